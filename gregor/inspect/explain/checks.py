"""The URL judged once more: canonical form, scope, limits, traps, budget, robots rules, limits of the whole crawl.

Nothing here was logged. What the answers depend on is the configuration, and what the log and the state say of the URL and its server.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct
from protego import Protego

from gregor.config import Config
from gregor.config.servers import ServerSettings
from gregor.inspect.explain.site import settings_of, site_check
from gregor.inspect.explain.story import Discovery, Result, SiteStory, UrlCheck
from gregor.operate.control_state import ControlState
from gregor.rules.answer import UrlAnswer
from gregor.rules.limits import WayLimit, WayLimits
from gregor.rules.robots_txt import whole_escapes
from gregor.rules.scope import HOST, LinkScope
from gregor.url.canonical import Url
from gregor.url.domain import registered_domain
from schemas.fetched import RobotsRules
from streams.frontier.inspect import PartitionView, UrlStanding, path_trap


class Evidence(Struct, frozen=True):
    """What is known of the URL and its server."""

    config: Config
    held: ControlState
    first: Discovery | None
    view: PartitionView | None
    """The state of its partition; None: it is not on this machine."""
    standing: UrlStanding | None
    robots: RobotsRules | None
    robots_last: Result | None
    """What the last request for robots.txt brought."""
    spent: int
    """Pages of the whole crawl that were fetched or are out."""
    now_ms: int
    site: SiteStory | None = None
    """None: servers are placed by their hash."""

    def for_server(self, server: str) -> ServerSettings:
        return settings_of(self.config.for_server(server), self.site)


def canonical_check(given: str, url: Url | UrlAnswer) -> UrlCheck:
    if isinstance(url, UrlAnswer):
        answer = f"there is none: {url.detail}"
        return UrlCheck(about="canonical form", passes=False, answer=answer, reason=url.reason)
    same = "as given" if url.text == given else f"{given} is {url.text}"
    return UrlCheck(about="canonical form", passes=True, answer=same)


def judge(url: Url, evidence: Evidence) -> Iterator[UrlCheck]:
    if evidence.site is not None:
        yield site_check(evidence.site)
    yield _scope(url, evidence)
    yield from _way(url, evidence)
    yield _traps(url, evidence)
    yield _budget(url, evidence)
    yield _robots(url, evidence)
    yield from _crawl_limits(evidence)


def _scope(url: Url, evidence: Evidence) -> UrlCheck:
    answer = LinkScope(evidence.config, evidence.held.widened).judge(url)
    view = evidence.view
    if answer is HOST and view is not None and view.brought_into_scope(url.server):
        return UrlCheck(
            about="scope", passes=True, answer="its server came into the scope by a seed or a seed's redirect"
        )
    if not answer.allowed:
        return UrlCheck(about="scope", passes=False, answer=answer.detail, reason=answer.reason)
    if url.server in evidence.held.widened:
        seed = evidence.held.widened[url.server].url or "a seed"
        return UrlCheck(
            about="scope", passes=True, answer=f"within, since {seed} is on its server, or was redirected there"
        )
    return UrlCheck(about="scope", passes=True, answer="within")


def _way(url: Url, evidence: Evidence) -> Iterator[UrlCheck]:
    """Limits on how a URL was found; they hold for each discovery by itself."""
    limits, first = WayLimits(evidence.config, evidence.for_server), evidence.first
    if not evidence.config.crawl.follow_links:
        yield _followed(limits, first)
    for limit in limits.of_server(url.server):
        yield _limited(limit, first)


def _followed(limits: WayLimits, first: Discovery | None) -> UrlCheck:
    if first is None:
        answer = "crawl.follow_links = false: only if it is a seed, or belongs to one"
        return UrlCheck(about="links", passes=None, answer=answer)
    judged = limits.judge_kind(first.kind)
    answer = f"found as a {first.kind}, crawl.follow_links = false"
    return UrlCheck(about="links", passes=judged.allowed, answer=answer, reason=judged.reason)


def _limited(limit: WayLimit, first: Discovery | None) -> UrlCheck:
    about, setting = limit.answer.reason, f"{limit.key} = {limit.most}"
    if not limit.limited:
        return UrlCheck(about=about, passes=True, answer=f"no limit ({setting})")
    if first is None:
        return UrlCheck(about=about, passes=None, answer=f"depends on the page that links to it; {setting}")
    judged = limit.judge(first)
    answer = f"{limit.count(first)} by its first discovery, {setting}"
    return UrlCheck(about=about, passes=judged.allowed, answer=answer, reason=judged.reason)


def _traps(url: Url, evidence: Evidence) -> UrlCheck:
    reason = path_trap(evidence.config, url)
    standing, view = evidence.standing, evidence.view
    if not reason and view is not None and standing is not None and standing.life == "unknown":
        reason = view.trap(evidence.config, url)
    answer = f"it looks like a trap: {reason}" if reason else "none"
    return UrlCheck(about="traps", passes=not reason, answer=answer, reason=reason)


def _budget(url: Url, evidence: Evidence) -> UrlCheck:
    config, view, standing = evidence.config, evidence.view, evidence.standing
    budget = evidence.for_server(url.server).budget
    if not budget:
        return UrlCheck(about="budget", passes=True, answer="no limit (crawl.server_budget = 0)")
    if view is None or standing is None:
        return UrlCheck(about="budget", passes=None, answer=f"{budget} URLs; how many were admitted is in the state")
    admitted, whose = standing.admitted, "its server"
    if config.partitions.partition_by == "domain":
        whose = registered_domain(url.server)
        admitted = view.admitted_of_domain(whose)
    answer = f"{admitted} of {budget} URLs of {whose} were admitted"
    if admitted < budget or standing.life in ("waiting", "fetched", "failed"):
        return UrlCheck(about="budget", passes=True, answer=answer)
    return UrlCheck(about="budget", passes=False, answer=answer, reason="budget")


def _robots(url: Url, evidence: Evidence) -> UrlCheck:
    config = evidence.config
    if not config.for_server(url.server).obey_robots:
        return UrlCheck(about="robots", passes=True, answer="not obeyed (robots.obey or obey_robots)")
    known = evidence.view.robots(config, url) if evidence.view is not None else None
    if known is not None:
        reason = known.refusal
        since = f"by robots.txt ({known.verdict}) of {moment(known.fetched_ms)}"
        return UrlCheck(
            about="robots", passes=not reason, answer=f"{'refused' if reason else 'allowed'} {since}", reason=reason
        )
    rules = evidence.robots
    if rules is None:
        return UrlCheck(about="robots", passes=None, answer=_no_robots(evidence))
    allowed = rules.verdict == "allow-all" or (
        rules.verdict == "rules" and Protego.parse(rules.text).can_fetch(whole_escapes(url.text), config.robots_agent)
    )
    since = f"by robots.txt ({rules.verdict}) of {moment(rules.fetched_ms)}"
    word = "allowed" if allowed else "refused"
    return UrlCheck(about="robots", passes=allowed, answer=f"{word} {since}", reason="" if allowed else "robots")


def _no_robots(evidence: Evidence) -> str:
    last = evidence.robots_last
    if last is None:
        return "no robots.txt of its origin is in the log"
    why = f", {last.detail}" if last.detail else f", status {last.status}" if last.status else ""
    return f"robots.txt of its origin could not be had yet, and nothing is asked before: {last.outcome}{why}"


def _crawl_limits(evidence: Evidence) -> Iterator[UrlCheck]:
    limits, config = evidence.held.limits, evidence.config
    most = limits.max_pages if limits is not None else config.crawl.max_pages
    if most:
        passes = evidence.spent < most
        answer = f"{evidence.spent} of {most} were fetched or are out"
        yield UrlCheck(about="pages of the crawl", passes=passes, answer=answer, reason="" if passes else "max-pages")
    if limits is not None and limits.until_ms:
        passes = evidence.now_ms < limits.until_ms
        answer = f"orders are made until {moment(limits.until_ms)}"
        yield UrlCheck(about="time of the crawl", passes=passes, answer=answer, reason="" if passes else "until")


def moment(ms: int) -> str:
    """For people; in UTC, because the log is read anywhere."""
    if not 0 < ms < 253_402_300_800_000:
        return "an unknown time"
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
