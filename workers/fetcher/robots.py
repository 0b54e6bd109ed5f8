"""Orders of kind ``robots``: robots.txt fetched through its redirects, and what it says to our agent (RFC 9309)."""

import asyncio
from collections.abc import Sequence
from typing import Final, Literal

from msgspec.structs import replace
from protego import Protego

from gregor.config.sections import OFFLINE_BACKENDS
from gregor.rules.robots_txt import lines_for, text_of
from gregor.runtime.transport.port import Output
from gregor.url.canonical import Url, UrlRefusal, join
from gregor.url.domain import registered_domain
from gregor.url.headers import from_header
from schemas.fetched import FetchResult, RobotsRules
from schemas.schedule import OrderUrl
from workers.fetcher.backends.backend import Exchange, Scheme
from workers.fetcher.order import OrderRun
from workers.fetcher.records import digest_of, page_of, result_of, unrequested
from workers.fetcher.skip_request import SkipRequest

MOST_REDIRECTS: Final = 5
MOST_SITEMAPS: Final = 100
LONGEST_SITEMAP: Final = 2048
LONGEST_DELAY_MS: Final = 10**12
LONGEST_RULES: Final = 1536 * 1024
"""Characters of rules that are kept of one file: both schemes of a server answer in one record, and a byte that has to be quoted may
become nine characters."""
PARSED_IN_PLACE: Final = 16 * 1024
"""Bytes; a longer file is parsed in a thread of its own, so that other requests go on."""

Denied = Literal["allow", "refuse"]


async def robots_order(run: OrderRun) -> Sequence[Output]:
    """Carry out the order: one result and, where the server said anything, one set of rules for each origin."""
    results: list[FetchResult] = []
    rules: list[RobotsRules] = []
    for url in run.order.urls:
        try:
            exchange, detail, asked_ms = await _through_redirects(run, url)
        except SkipRequest as refrain:
            results.append(unrequested(url, refrain.outcome, refrain.reason, refrain.again_ms))
            continue
        result = result_of(url, exchange, digest_of(exchange), run.ctx.now_ms(), detail)
        # When the order's own server was asked last: that is what its delay counts from, not another server's turn.
        results.append(replace(result, started_ms=asked_ms))
        if result.outcome != "not-modified":
            found = await _rules(run, url.scheme, exchange, detail)
            rules.append(found)
            if found.verdict != "unreachable":
                run.keep_delay(url.scheme, found.crawl_delay_ms / 1000)
    return run.finish(results, tuple(rules))


async def _through_redirects(run: OrderRun, url: OrderUrl) -> tuple[Exchange, str, int]:
    """The last response, what was wrong with the way to it, and when the order's own server was asked last."""
    scheme, server, path = url.scheme, run.order.server, url.path
    last: Exchange | None = None
    asked_ms = 0
    for _ in range(MOST_REDIRECTS + 1):
        try:
            exchange = await run.request(url, scheme, server, path)
        except SkipRequest as refrain:
            if last is not None and refrain.outcome == "expired":
                # The next order would not get any further, and nobody would ever give up.
                return last, "redirected, and the order's deadline is over before the next request", asked_ms
            raise
        if server == run.order.server:
            asked_ms = exchange.started_ms
        if exchange.status:
            run.keep(page_of(run.origin, url, exchange, digest_of(exchange), run.ctx.placement, (scheme, server, path)))
        location = exchange.header("location")
        if exchange.outcome != "redirect" or not location:
            return exchange, "", asked_ms
        target = _target(run, f"{scheme}://{server}{path}", location)
        if isinstance(target, str):
            return exchange, target, asked_ms
        scheme, server, path = _scheme(target.scheme), target.server, target.path
        last = exchange
    assert last is not None
    return last, f"more than {MOST_REDIRECTS} redirects", asked_ms


def _target(run: OrderRun, source: str, location: str) -> Url | str:
    """Where a redirect leads, or why it is not followed."""
    target = join(source, from_header(location))
    if isinstance(target, UrlRefusal):
        return f"redirected to what cannot be fetched ({target.reason})"
    if target.server == run.order.server:
        too_long = "redirected, and the delay before the next request is too long to wait for it here"
        return too_long if run.waits_too_long else target
    if not (_same_site(run.order.server, target.server) or run.ctx.in_scope(target.server)):
        return f"redirected to {target.server[:100]}, which is of another domain and out of scope"
    return target


def _same_site(one: str, other: str) -> bool:
    """Whether whoever has one of the servers has the other: they are of one registered domain, or of one address."""
    if registered_domain(one) == registered_domain(other):
        return True
    # A public suffix has no domain above it: github.io and www.github.io.
    return _without_www(one) == _without_www(other)


def _without_www(server: str) -> str:
    host = server if server.startswith("[") else server.partition(":")[0]
    return host.removeprefix("www.")


async def _rules(run: OrderRun, scheme: Scheme, exchange: Exchange, detail: str) -> RobotsRules:
    now = run.ctx.now_ms()
    config = run.ctx.config
    if exchange.outcome == "ok":
        given = (exchange.body, bool(exchange.truncated), config.robots_agent, scheme, now)
        rules = rules_of(*given) if len(exchange.body) <= PARSED_IN_PLACE else await asyncio.to_thread(rules_of, *given)
        # Where nobody is asked, nobody wants to be asked less often.
        return replace(rules, crawl_delay_ms=0) if config.fetch.backend in OFFLINE_BACKENDS else rules
    verdict = verdict_of(exchange, detail, config.robots.when_denied)
    return RobotsRules(scheme=scheme, verdict=verdict, fetched_ms=now, status=exchange.status)


def verdict_of(
    exchange: Exchange, detail: str, when_denied: Denied
) -> Literal["allow-all", "refuse-all", "unreachable"]:
    """What a robots.txt means that was not delivered: RFC 9309, 2.3.1."""
    if exchange.outcome == "client-error":
        denied = exchange.status in (401, 403) and when_denied == "refuse"
        return "refuse-all" if denied else "allow-all"
    if exchange.outcome == "redirect" and detail.startswith("more than"):
        return "allow-all"
    return "unreachable"


def rules_of(body: bytes, cut: bool, agent: str, scheme: Scheme, now_ms: int) -> RobotsRules:
    """What a delivered file says to ``agent``. ``cut``: its last line is not whole, and left out."""
    lines = lines_for(text_of(body, cut=cut), agent)
    parsed = Protego.parse(lines.text)
    text = _normalised(parsed, agent)
    return RobotsRules(
        scheme=scheme,
        verdict="rules" if text else "allow-all",
        text=text,
        crawl_delay_ms=_delay_ms(parsed, agent),
        sitemaps=tuple(one for one in lines.sitemaps if len(one) <= LONGEST_SITEMAP)[:MOST_SITEMAPS],
        fetched_ms=now_ms,
        status=200,
    )


def _normalised(parsed: Protego, agent: str) -> str:
    """The rules for ``agent``, each once and quoted, as a file for everybody that protego reads back to the same rules."""
    group = parsed._get_matching_rule_set(agent)
    if group is None or not group._rules:
        return ""
    rules = dict.fromkeys((rule.field, rule.value._pattern) for rule in group._rules)
    # Protego adds two kinds of rules of its own, and would add them again: "$" taken literally, and "/" for "/index.html".
    added = {(field, pattern.replace("$", "%24")) for field, pattern in rules if "$" in pattern}
    added |= {("allow", pattern[: -len("index.html")] + "$") for _, pattern in rules if pattern.endswith("/index.html")}
    lines = [f"{field}: {pattern}" for field, pattern in rules if (field, pattern) not in added]
    text = "\n".join([*lines, ""])
    if len(text) > LONGEST_RULES:
        # Protego has them by their length, the longest first: as few as possible go.
        text = text[text.index("\n", len(text) - LONGEST_RULES) + 1 :]
    return f"user-agent: *\n{text}"


def _delay_ms(parsed: Protego, agent: str) -> int:
    delay = round(min(parsed.crawl_delay(agent) or 0.0, LONGEST_DELAY_MS) * 1000)
    rate = parsed.request_rate(agent)
    if rate is not None:
        # Whole numbers, rounded up: what stands in a file may be larger than any float.
        delay = max(delay, -(-1000 * rate.seconds // rate.requests))
    return min(delay, LONGEST_DELAY_MS)


def _scheme(name: str) -> Scheme:
    return "http" if name == "http" else "https"
