"""Everybody who judges URLs, each by its own front door and each for one answer: the reason of a refusal, empty where there is none."""

from typing import Literal

from msgspec.structs import replace

from gregor.config import Config
from gregor.errors import UsageError
from gregor.inspect.explain.checks import Evidence, canonical_check, judge
from gregor.inspect.explain.story import Discovery, UrlCheck
from gregor.inspect.replay.scope_filter import ScopeFilter
from gregor.operate.control_state import ControlState
from gregor.rules.canonical import canonical_url, rules_of
from gregor.rules.scope import LinkScope
from gregor.run.seeds import parse_seeds
from gregor.url.canonical import Url
from gregor.url.fingerprint import HashPlacement
from schemas.discovered import Discovered, LinkKind
from schemas.pages import PageFacts
from schemas.verdicts import decode_verdict
from tests.streams.frontier.rig import T0, Rig, configure
from workers.extractor.filter.cache import UrlFilter
from workers.extractor.filter.lists import FilterSettings
from workers.extractor.linker import Linker
from workers.extractor.page_links import RawLink
from workers.extractor.reading import Reading
from workers.extractor.tally import RefusalTally

PAGE = "seed.test"
Followed = Literal["link", "redirect", "requisite", "refresh"]
NOTHING = ControlState(crawl=None, servers={}, limits=None, widened={}, config=None)


class Extractor:
    """Its linker, which is shown pages of one link each."""

    def __init__(self, config: Config) -> None:
        self.known = UrlFilter(FilterSettings(capacity=100), None)
        self._tally = RefusalTally(HashPlacement(4096, 1), "")
        self._linker = Linker(config, LinkScope(config), self.known, self._tally)
        self.sent: list[Discovered] = []

    def show(self, href: str, kind: Followed = "link", **facts: int) -> str:
        page = PageFacts(server=PAGE, path="/page", lease="lease", status=200, scheme="http", **facts)  # type: ignore[arg-type]
        form = "redirect" if kind == "redirect" else "html"
        self.sent, _ = self._linker.link(
            page, Reading(form, page.url, [RawLink(href, "a" if kind == "link" else kind)]), (), 0
        )
        self._linker.settle()
        return "".join([decode_verdict(one.value).reason for one in self._tally.outputs(0)])


def extractor_scope(config: Config, url: Url) -> str:
    return Extractor(config).show(url.text)


def frontier_scope(config: Config, url: Url) -> str:
    """Of the server alone, as it has been since the extractor asked."""
    held = replace(configure(), crawl=config.crawl, scope=config.scope)
    with Rig(held) as rig:
        rig.frontier.discover([_found(url, "link", Discovery(offset=0, kind="link", depth=2, hops=1))], T0)
        return _refusal(rig)


def explain_scope(config: Config, url: Url) -> str:
    return _reason(_checks(config, url, None), "scope")


def replay_scope(config: Config, url: Url) -> str:
    sieve = ScopeFilter(config, ())
    kept = sieve(_found(url, "link", Discovery(offset=0, kind="link")))
    reasons = [reason for reason, count in sieve.refused.items() if count]
    assert (kept is None) == bool(reasons)
    return "".join(reasons)


def frontier_way(config: Config, url: Url, way: Discovery) -> str:
    with Rig(config) as rig:
        rig.frontier.discover([_found(url, way.kind, way)], T0)  # type: ignore[arg-type]
        return _refusal(rig)


def explain_way(config: Config, url: Url, way: Discovery) -> str:
    checks = [check for check in _checks(config, url, way) if check.about not in ("scope", "robots")]
    return next((check.reason for check in checks if check.passes is False), "")


def extractor_way(config: Config, url: Url, way: Discovery) -> bool:
    """Whether the frontier is expected to take what is sent: only then the URL is never told again."""
    asked = Extractor(config)
    deeper = 0 if way.kind in ("redirect", "requisite") else 1
    hop = 0 if way.kind == "redirect" else 1
    before = {"depth": way.depth - deeper, "hops": way.hops - hop, "off_site": way.off_site}
    refused = asked.show(url.text, way.kind, redirects=max(0, way.redirects - 1), **before)  # type: ignore[arg-type]
    if refused:
        assert refused == "redirect-limit"
        return False
    (sent,) = asked.sent
    assert (sent.depth, sent.hops, sent.off_site) == (way.depth, way.hops, way.off_site)
    return asked.known.find(url.scheme, url.server, url.path).near


def seed_form(config: Config, text: str) -> str:
    """The canonical text, or the reason why there is none."""
    try:
        (url,) = parse_seeds([text], rules_of(config.url))
    except UsageError as error:
        return str(error).rpartition("(")[2].rstrip(")")
    return url.text


def explain_form(config: Config, text: str) -> str:
    url = canonical_url(text, rules_of(config.url))
    check = canonical_check(text, url)
    return url.text if isinstance(url, Url) and check.passes else check.reason


def link_form(config: Config, text: str) -> str:
    asked = Extractor(config)
    refused = asked.show(text).removeprefix("url-")
    return refused or "".join(f"{one.scheme}://{one.server}{path}" for one in asked.sent for path in one.paths)


def _found(url: Url, kind: LinkKind, way: Discovery) -> Discovered:
    return Discovered(
        server=url.server,
        paths=(url.path,),
        scheme="http" if url.scheme == "http" else "https",
        kind=kind,
        depth=way.depth,
        hops=way.hops,
        off_site=way.off_site,
        redirects=way.redirects,
    )


def _refusal(rig: Rig) -> str:
    reasons = [
        name.removeprefix("refused_") for name, count in rig.counters.items() if name[:8] == "refused_" and count
    ]
    assert rig.counters.get("admitted", 0) == 1 - len(reasons)
    return "".join(reasons)


def _checks(config: Config, url: Url, first: Discovery | None) -> list[UrlCheck]:
    return list(judge(url, Evidence(config, NOTHING, first, None, None, None, None, 0, 1)))


def _reason(checks: list[UrlCheck], about: str) -> str:
    (check,) = [check for check in checks if check.about == about]
    assert check.passes == (not check.reason)
    return check.reason
