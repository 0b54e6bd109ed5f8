"""Orders of kind ``robots``: robots.txt fetched through its redirects, and what it says to our agent (RFC 9309)."""

import asyncio
from collections.abc import Sequence
from typing import Final, Literal

from protego import Protego

from gregor.transport.port import Output
from gregor.url.canonical import Refusal, join
from gregor.url.headers import from_header
from schemas.fetched import FetchResult, RobotsRules
from schemas.schedule import OrderUrl
from workers.fetcher.order import OrderRun
from workers.fetcher.port import Exchange, Scheme
from workers.fetcher.records import digest_of, page_of, result_of, unrequested
from workers.fetcher.withheld import Refrain

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
            exchange, detail = await _through_redirects(run, url)
        except Refrain as refrain:
            results.append(unrequested(url, refrain.outcome, refrain.reason, refrain.again_ms))
            continue
        result = result_of(url, exchange, digest_of(exchange), run.around.now_ms(), detail)
        results.append(result)
        if result.outcome != "not-modified":
            rules.append(await _rules(run, url.scheme, exchange, detail))
    return run.finish(results, tuple(rules))


async def _through_redirects(run: OrderRun, url: OrderUrl) -> tuple[Exchange, str]:
    """The last response, and what was wrong with the way to it."""
    scheme, server, path = url.scheme, run.order.server, url.path
    hops = 0
    while True:
        exchange = await run.request(url, scheme, server, path)
        if exchange.status:
            run.keep(
                page_of(run.origin, url, exchange, digest_of(exchange), run.around.placement, (scheme, server, path))
            )
        location = exchange.header("location")
        if exchange.outcome != "redirect" or not location:
            return exchange, ""
        hops += 1
        if hops > MOST_REDIRECTS:
            return exchange, f"more than {MOST_REDIRECTS} redirects"
        if run.waits_too_long:
            return exchange, "redirected, and the delay before the next request is too long to wait for it here"
        target = join(f"{scheme}://{server}{path}", from_header(location))
        if isinstance(target, Refusal):
            return exchange, f"redirected to what cannot be fetched ({target.reason})"
        scheme, server, path = _scheme(target.scheme), target.server, target.path


async def _rules(run: OrderRun, scheme: Scheme, exchange: Exchange, detail: str) -> RobotsRules:
    now = run.around.now_ms()
    config = run.around.config
    if exchange.outcome == "ok":
        if len(exchange.body) <= PARSED_IN_PLACE:
            return rules_of(exchange.body, bool(exchange.truncated), config.robots_agent, scheme, now)
        return await asyncio.to_thread(
            rules_of, exchange.body, bool(exchange.truncated), config.robots_agent, scheme, now
        )
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
    if cut:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    parsed = Protego.parse(body.decode("utf-8-sig", "replace"))
    text = _normalised(parsed, agent)
    return RobotsRules(
        scheme=scheme,
        verdict="rules" if text else "allow-all",
        text=text,
        crawl_delay_ms=_delay_ms(parsed, agent),
        sitemaps=tuple(one for one in parsed.sitemaps if len(one) <= LONGEST_SITEMAP)[:MOST_SITEMAPS],
        fetched_ms=now_ms,
        status=200,
    )


def _normalised(parsed: Protego, agent: str) -> str:
    """The rules of the group that holds for ``agent``, as a file for everybody that protego reads back to the same rules."""
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
