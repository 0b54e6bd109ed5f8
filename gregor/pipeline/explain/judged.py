"""The URL judged once more: canonical form, scope, limits, traps, budget, robots rules, limits of the whole crawl.

Nothing here was logged. What the answers depend on is the configuration, and what the log and the state say of the URL and its server.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct
from protego import Protego

from gregor.config import Config
from gregor.pipeline.explain.standing import Examined
from gregor.pipeline.explain.story import Check, Found, Result
from gregor.pipeline.operate.pauses import Held
from gregor.state.store import StateReader
from gregor.url.canonical import Refusal, Url
from gregor.url.domain import registered_domain
from schemas.fetched import RobotsRules
from streams.frontier import traps
from streams.frontier.admission import WITHOUT_LINKS
from streams.frontier.entry import Scheme
from streams.frontier.families import DOMAINS
from streams.frontier.robots import RobotsCache
from streams.frontier.server import IN_SCOPE
from workers.extractor.scope import EXCLUDE, EXTENSION, HOST, INCLUDE, PREFIX, Scope

REFUSALS = {
    "scheme": "its scheme is neither http nor https",
    "invalid": "it is no URL",
    "credentials": "it holds a user name or password",
    "too-long": "it is longer than url.max_length",
    "base": "it is not absolute",
}
_SCOPE = {
    HOST: "its server is none of the scope's: crawl.scope, scope.hosts and scope.domains say which are",
    PREFIX: "it begins with none of scope.prefixes",
    INCLUDE: "none of scope.include is found in it",
    EXCLUDE: "one of scope.exclude is found in it",
    EXTENSION: "its ending is among scope.refuse_extensions",
}


class Evidence(Struct, frozen=True):
    """What is known of the URL and its server."""

    config: Config
    held: Held
    first: Found | None
    examined: Examined | None
    state: StateReader | None
    robots: RobotsRules | None
    robots_last: Result | None
    """What the last request for robots.txt brought."""
    spent: int
    """Pages of the whole crawl that were fetched or are out."""
    now_ms: int


def canonical_check(given: str, url: Url | Refusal) -> Check:
    if isinstance(url, Refusal):
        answer = REFUSALS.get(url.reason, url.reason)
        return Check(about="canonical form", passes=False, answer=f"there is none: {answer}", reason=url.reason)
    same = "as given" if url.text == given else f"{given} is {url.text}"
    return Check(about="canonical form", passes=True, answer=same)


def judge(url: Url, evidence: Evidence) -> Iterator[Check]:
    yield _scope(url, evidence)
    yield from _way(url, evidence)
    yield _traps(url, evidence)
    yield _budget(url, evidence)
    yield _robots(url, evidence)
    yield from _crawl_limits(evidence)


def _scope(url: Url, evidence: Evidence) -> Check:
    reason = Scope(evidence.config, evidence.held.widened).refusal(url)
    examined = evidence.examined
    if reason == HOST and examined is not None and examined.server.record.flags & IN_SCOPE:
        return Check(about="scope", passes=True, answer="its server came into the scope by a seed or a seed's redirect")
    if reason:
        return Check(about="scope", passes=False, answer=_SCOPE[reason], reason=reason)
    if url.server in evidence.held.widened:
        seed = evidence.held.widened[url.server].url or "a seed"
        return Check(
            about="scope", passes=True, answer=f"within, since {seed} is on its server, or was redirected there"
        )
    return Check(about="scope", passes=True, answer="within")


def _way(url: Url, evidence: Evidence) -> Iterator[Check]:
    """Limits on how a URL was found; they hold for each discovery by itself."""
    config, first = evidence.config, evidence.first
    if not config.crawl.follow_links:
        yield _followed(first)
    limits = (
        ("depth", config.for_server(url.server).max_depth, "crawl.max_depth", 0),
        ("hops", config.crawl.max_hops, "crawl.max_hops", 0),
        ("off_site", config.frontier.max_off_site, "frontier.max_off_site", 0),
        ("redirects", config.frontier.max_redirects, "frontier.max_redirects", -1),
    )
    for name, most, key, unlimited in limits:
        about = name.replace("_", "-")
        if most == unlimited:
            yield Check(about=about, passes=True, answer=f"no limit ({key} = {most})")
        elif first is None:
            answer = f"depends on the page that links to it; {key} = {most}"
            yield Check(about=about, passes=None, answer=answer)
        else:
            value = getattr(first, name)
            passes = value <= most
            answer = f"{value} by its first discovery, {key} = {most}"
            yield Check(about=about, passes=passes, answer=answer, reason="" if passes else about)


def _followed(first: Found | None) -> Check:
    if first is None:
        answer = "crawl.follow_links = false: only if it is a seed, or belongs to one"
        return Check(about="links", passes=None, answer=answer)
    passes = first.kind in WITHOUT_LINKS
    answer = f"found as a {first.kind}, crawl.follow_links = false"
    return Check(about="links", passes=passes, answer=answer, reason="" if passes else "not-followed")


def _traps(url: Url, evidence: Evidence) -> Check:
    settings = evidence.config.traps
    reason = traps.path_reason(settings, url.path)
    examined = evidence.examined
    if not reason and examined is not None and examined.standing.life == "unknown":
        record = examined.server.record
        if traps.directory_closed(settings, record, url.path):
            reason = "identical-pages"
        elif "?" in url.path and traps.too_many_variants(settings, record, url.path):
            reason = "query-variants"
    answer = f"it looks like a trap: {reason}" if reason else "none"
    return Check(about="traps", passes=not reason, answer=answer, reason=reason)


def _budget(url: Url, evidence: Evidence) -> Check:
    config, examined = evidence.config, evidence.examined
    budget = config.for_server(url.server).budget
    if not budget:
        return Check(about="budget", passes=True, answer="no limit (crawl.server_budget = 0)")
    if examined is None or evidence.state is None:
        return Check(about="budget", passes=None, answer=f"{budget} URLs; how many were admitted is in the state")
    admitted, whose = examined.standing.admitted, "its server"
    if config.partitions.partition_by == "domain":
        whose = registered_domain(url.server)
        stored = evidence.state.get(DOMAINS, whose.encode())
        admitted = int.from_bytes(stored, "big") if stored else 0
    answer = f"{admitted} of {budget} URLs of {whose} were admitted"
    if admitted < budget or examined.standing.life in ("waiting", "ordered", "fetched", "failed"):
        return Check(about="budget", passes=True, answer=answer)
    return Check(about="budget", passes=False, answer=answer, reason="budget")


def _robots(url: Url, evidence: Evidence) -> Check:
    config, examined = evidence.config, evidence.examined
    if not config.for_server(url.server).obey_robots:
        return Check(about="robots", passes=True, answer="not obeyed (robots.obey or obey_robots)")
    scheme: Scheme = "http" if url.scheme == "http" else "https"
    origin = examined.server.origin(scheme) if examined is not None else None
    if examined is not None and evidence.state is not None and origin is not None and origin.verdict:
        reason = RobotsCache(evidence.state, config.robots_agent).refusal(examined.server, scheme, url.path)
        since = f"by robots.txt ({origin.verdict}) of {moment(origin.fetched_ms)}"
        return Check(
            about="robots", passes=not reason, answer=f"{'refused' if reason else 'allowed'} {since}", reason=reason
        )
    rules = evidence.robots
    if rules is None:
        return Check(about="robots", passes=None, answer=_no_robots(evidence))
    allowed = rules.verdict == "allow-all" or (
        rules.verdict == "rules" and Protego.parse(rules.text).can_fetch(url.text, config.robots_agent)
    )
    since = f"by robots.txt ({rules.verdict}) of {moment(rules.fetched_ms)}"
    word = "allowed" if allowed else "refused"
    return Check(about="robots", passes=allowed, answer=f"{word} {since}", reason="" if allowed else "robots")


def _no_robots(evidence: Evidence) -> str:
    last = evidence.robots_last
    if last is None:
        return "no robots.txt of its origin is in the log"
    why = f", {last.detail}" if last.detail else f", status {last.status}" if last.status else ""
    return f"robots.txt of its origin could not be had yet, and nothing is asked before: {last.outcome}{why}"


def _crawl_limits(evidence: Evidence) -> Iterator[Check]:
    limits, config = evidence.held.limits, evidence.config
    most = limits.max_pages if limits is not None else config.crawl.max_pages
    if most:
        passes = evidence.spent < most
        answer = f"{evidence.spent} of {most} were fetched or are out"
        yield Check(about="pages of the crawl", passes=passes, answer=answer, reason="" if passes else "max-pages")
    if limits is not None and limits.until_ms:
        passes = evidence.now_ms < limits.until_ms
        answer = f"orders are made until {moment(limits.until_ms)}"
        yield Check(about="time of the crawl", passes=passes, answer=answer, reason="" if passes else "until")


def moment(ms: int) -> str:
    """For people; in UTC, because the log is read anywhere."""
    if not 0 < ms < 253_402_300_800_000:
        return "an unknown time"
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
