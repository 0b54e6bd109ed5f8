"""From the links of one page to records: joined, in scope, unknown to the filter, grouped by the server they lead to."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from gregor.config import Config
from gregor.rules.answer import ALLOWED, UrlAnswer
from gregor.rules.canonical import LINK_REFUSALS, rules_of
from gregor.rules.limits import REDIRECT_LIMIT, WayLimits
from gregor.rules.scope import LinkScope
from gregor.url.canonical import Url, UrlRefusal
from gregor.url.domain import registered_domain
from gregor.url.links import Joiner, without_fragment
from schemas.discovered import Discovered, LinkKind
from schemas.pages import PageFacts
from schemas.verdicts import VerdictKind
from workers.extractor.filter.cache import UrlFilter
from workers.extractor.filter.entries import GONE, REFUSED, Entry, Refused, Target
from workers.extractor.hrefs import DirectoryLinks, Hrefs
from workers.extractor.page_links import RawLink
from workers.extractor.reading import Reading
from workers.extractor.sitemap_owners import SitemapOwners
from workers.extractor.tally import Example, RefusalTally

PATHS_PER_RECORD: Final = 1000
BYTES_PER_RECORD: Final = 512 * 1024
ROBOTS_PATH: Final = "/robots.txt"
SITEMAP_HOPS: Final = 3
"""From robots.txt to an index, to a sitemap, to its entries."""
SITEMAP_OFF_HOST: Final = UrlAnswer(
    "sitemap-off-host", "a sitemap of another server names it, and no robots.txt of its own names that"
)

_KINDS: Final[dict[str, LinkKind]] = {
    "redirect": "redirect",
    "canonical": "canonical",
    "alternate": "alternate",
    "refresh": "refresh",
    "requisite": "requisite",
    "sitemap": "sitemap",
    "feed": "feed",
}

_CREDENTIALS: Final = re.compile(r"[/\\]{2}[^/?#\\]*@")
_SPECIAL: Final = frozenset(("redirect", "requisite", "sitemap"))
_LEAVES_SITES: Final = frozenset(("redirect", "requisite"))
"""What is followed to other sites under every coverage: the page itself is there, or a part of it."""
_PLAIN_FORMS: Final = frozenset(("html", "feed", "plugin"))
"""Responses without special links, unless requisites are links."""


class LinkCounts(Struct):
    """What became of a page's links."""

    found: int = 0
    internal: int = 0
    """Distinct URLs within the page's registered domain."""
    external: int = 0
    refused: int = 0
    canonical: str = ""
    """Where its rel=canonical leads; empty: it has none, or one that is refused."""


class Distance(Struct, frozen=True):
    """How far the targets of one kind of link are from their seed."""

    depth: int
    hops: int
    off_site: int
    redirects: int = 0
    """Not counted: what is beyond their limit was refused before."""


class Linker:
    """Holds what is the same for all pages. ``scope`` may be replaced between pages, see ``rescope``."""

    def __init__(self, config: Config, scope: LinkScope, known: UrlFilter, tally: RefusalTally) -> None:
        self.scope = scope
        self._config = config
        self._rules = rules_of(config.url)
        self._limits = WayLimits(config)
        self._hastens = config.revisit.mode != "off"
        self._drop_nofollow = config.extract.nofollow == "drop"
        self._counts_links = "links" in config.extract.page_facts
        self._leaves_sites = config.partitions.placement == "hash" or config.sites.coverage == "full"
        self._by_domain = config.partitions.partition_by == "domain"
        self._known = known
        self._hrefs = Hrefs(config.filter.hrefs)
        self._tally = tally
        self._vouched = SitemapOwners()
        self._page = 0

    def redirect_server(self, facts: PageFacts, reading: Reading) -> str:
        """The server that a redirect within its limits leads to; empty: it is none."""
        if reading.form != "redirect" or not self._limits.may_redirect(facts.redirects):
            return ""
        url = Joiner(reading.base, self._rules).join(reading.found[0].href)
        return "" if isinstance(url, UrlRefusal) else url.server

    def rescope(self, scope: LinkScope) -> None:
        """A change of scope: what was remembered under the old one is forgotten."""
        self.scope = scope
        self._hrefs.clear()
        self._known.clear()

    def link(
        self, facts: PageFacts, reading: Reading, more: Sequence[str], now_ms: int
    ) -> tuple[list[Discovered], LinkCounts]:
        """The records of a page and what was counted; ``more`` are links that plug-ins found. Once the records are as good as sent,
        ``settle`` follows, or else ``abandon``."""
        if facts.kind == "pages":
            # A robots.txt, or what it was redirected to, was fetched without the frontier having it as a URL.
            self._known.fetched(facts.scheme, facts.server, facts.path)
        found = reading.found
        counts = LinkCounts(_number(found) + len(more))
        if reading.robots.nofollow and reading.form != "redirect":
            self._refuse(facts, "dropped", "robots-nofollow", _number(found))
            found = []
        if reading.dropped:
            self._refuse(facts, "dropped", "too-many-links", reading.dropped)
        if not reading.complete:
            self._refuse(facts, "failed", "incomplete", 1)
        if reading.form == "undecodable":
            self._refuse(facts, "failed", "undecodable", 1)
        entries = self._targets(facts, reading, found, counts)
        if more:
            entries += self._targets(
                facts, Reading("plugin", facts.url), [RawLink(one, "plugin") for one in more], counts
            )
        return list(self._records(facts, entries, counts, now_ms)), counts

    def settle(self) -> None:
        """The records of the page are part of the transaction."""
        self._hrefs.trim()
        self._known.end_page()

    def abandon(self) -> None:
        """Nothing of the page is sent."""
        self._hrefs.trim()
        self._known.abandon_page()

    def _targets(self, facts: PageFacts, reading: Reading, found: Sequence[RawLink], counts: LinkCounts) -> list[Entry]:
        """The distinct URLs in scope that the links lead to; how often and how, stands in the entries themselves."""
        joiner = Joiner(reading.base, self._rules)
        if joiner.page is None:
            if found:
                self._refuse(facts, "refused", "url-base", _number(found))
            return []
        known = self._hrefs.of(joiner.page, joiner.directory)
        own: dict[str, Target] = {}
        self._page = mark = self._page + 1
        entries: list[Entry] = []
        plain = reading.form in _PLAIN_FORMS and not self._config.extract.requisites
        remembered = known.get
        # The hot loop: a navigation link costs one look-up.
        for link in found:
            target = remembered(link.href)
            if target is None or target.state >= GONE or not plain:
                target = self._look_up(facts, reading, joiner, known, own, link)
                if target.state == REFUSED:
                    counts.refused += link.times
                    self._refuse_link(facts, target, link.times)
                    continue
            if target.mark != mark:
                target.mark = mark
                target.times = link.times
                target.rel = link.rel
                target.kind = link.kind
                if link.lastmod_ms or target.lastmod_ms:
                    target.lastmod_ms = link.lastmod_ms
                entries.append(target)  # type: ignore[arg-type]
            else:
                # A URL is nofollow only if every link to it is, and a requisite only if none of them is more.
                target.times += link.times
                target.rel &= link.rel
                if target.kind == "requisite":
                    target.kind = link.kind
        return entries

    def _look_up(
        self,
        facts: PageFacts,
        reading: Reading,
        joiner: Joiner,
        known: DirectoryLinks,
        own: dict[str, Target],
        link: RawLink,
    ) -> Target:
        """Where a link leads that may not be remembered as it is written."""
        href = link.href
        if link.kind in _SPECIAL:
            return self._resolve(facts, reading, joiner, known, own, without_fragment(href), link)
        target = known.get(href)
        if target is None or target.state == GONE:
            href = without_fragment(href)
            target = known.get(href) or own.get(href)
            if target is None or target.state == GONE:
                target = self._resolve(facts, reading, joiner, known, own, href, link)
        return target

    def _resolve(
        self,
        facts: PageFacts,
        reading: Reading,
        joiner: Joiner,
        known: DirectoryLinks,
        own: dict[str, Target],
        href: str,
        link: RawLink,
    ) -> Target:
        url = link.joined(joiner, href)
        if isinstance(url, UrlRefusal):
            target: Target = Refused(
                reason=LINK_REFUSALS[url.reason].reason, url=_CREDENTIALS.sub("//***@", href[:200])
            )
        elif link.kind in _SPECIAL:
            # Another link of the same text may be judged otherwise, so that it is not remembered.
            return self._special(facts, reading, url, link)
        else:
            target = self._judged(url, self.scope.judge(url))
        own[href] = target
        self._hrefs.remember(known, href, target)
        return target

    def _special(self, facts: PageFacts, reading: Reading, url: Url, link: RawLink) -> Target:
        """Links with rules of their own: redirects, requisites, entries of sitemaps."""
        answer = self.scope.judge(url)
        if link.kind == "redirect":
            # One that leads to itself is a known URL; the frontier, which asks for it once more, has the last word.
            if not self._limits.may_redirect(facts.redirects) and url.text != facts.url:
                answer = REDIRECT_LIMIT
        elif link.kind == "requisite":
            if answer is not ALLOWED and self.scope.holds(facts.server):
                answer = self.scope.judge_requisite(url)
        elif reading.form == "robots":
            # Redirected elsewhere, it says nothing for the server that somebody else's file lies on.
            if facts.path == ROBOTS_PATH:
                self._vouched.add(url.text, facts.server)
            if facts.robots_of:
                self._vouched.add(url.text, facts.robots_of)
        elif url.server != facts.server and not self._vouched.holds(facts.url, url.server):
            answer = SITEMAP_OFF_HOST if answer is ALLOWED else answer
        return self._judged(url, answer)

    def _judged(self, url: Url, answer: UrlAnswer) -> Target:
        if answer is not ALLOWED:
            return Refused(reason=answer.reason, url=url.text)
        return self._known.find(url.scheme, url.server, url.path)

    def _records(
        self, facts: PageFacts, entries: Sequence[Entry], counts: LinkCounts, now_ms: int
    ) -> Iterator[Discovered]:
        """What the frontier must be told, by server, scheme and kind."""
        domain = registered_domain(facts.server)
        if not self._leaves_sites:
            elsewhere = [entry for entry in entries if self._is_elsewhere(facts, domain, entry)]
            entries = [entry for entry in entries if not self._is_elsewhere(facts, domain, entry)]
            yield from self._sites_of(facts, elsewhere, counts, now_ms)
        groups: dict[tuple[str, str, str], list[Entry]] = {}
        inside, outside = _distance(facts, "a", True), _distance(facts, "a", False)
        near_inside, near_outside = self._near(facts.server, "a", inside), self._near(facts.server, "a", outside)
        alike = not self._config.server
        nofollow = 0
        if not self._counts_links:
            # The most frequent case by far needs nothing of what follows.
            self._known.hits([entry for entry in entries if entry.near and not entry.rel and not entry.lastmod_ms])
            entries = [entry for entry in entries if not entry.near or entry.rel or entry.lastmod_ms]
        for entry in entries:
            group = entry.group
            internal = group.domain == domain
            kind = entry.kind
            if internal:
                counts.internal += 1
            else:
                counts.external += 1
            if kind == "canonical":
                counts.canonical = f"{group.scheme}://{group.server}{entry.path}"
            if entry.rel and self._drop_nofollow:
                nofollow += entry.times
                self._known.forget(entry)
                continue
            if alike and kind not in _SPECIAL:
                near = near_inside if internal else near_outside
            else:
                near = self._near(group.server, kind, _distance(facts, kind, internal))
            if self._known.claim(entry, near) or (entry.lastmod_ms and self._hastens):
                groups.setdefault((group.server, group.scheme, _KINDS.get(kind, "link")), []).append(entry)
        if nofollow:
            self._refuse(facts, "dropped", "rel-nofollow", nofollow)
        for (server, scheme, kind), chosen in groups.items():
            internal = chosen[0].group.domain == domain
            for piece in _pieces(chosen):
                yield _record(facts, server, scheme, kind, piece, internal, now_ms)

    def _is_elsewhere(self, facts: PageFacts, domain: str, entry: Entry) -> bool:
        """Whether it is a page of another site, and the page does not consist of it."""
        own = entry.group.domain == domain if self._by_domain else entry.group.server == facts.server
        return not own and entry.kind not in _LEAVES_SITES

    def _sites_of(
        self, facts: PageFacts, entries: Sequence[Entry], counts: LinkCounts, now_ms: int
    ) -> Iterator[Discovered]:
        """Coverage `two-level`: of pages of other sites only the sites are told, each by a record without paths."""
        domain = registered_domain(facts.server)
        told: set[str] = set()
        dropped = 0
        for entry in entries:
            group = entry.group
            internal = group.domain == domain
            counts.internal += internal
            counts.external += not internal
            if entry.kind == "canonical":
                counts.canonical = f"{group.scheme}://{group.server}{entry.path}"
            self._known.forget(entry)
            if entry.rel and self._drop_nofollow:
                self._refuse(facts, "dropped", "rel-nofollow", entry.times)
                continue
            dropped += entry.times
            site = group.domain if self._by_domain else group.server
            if site not in told and self._near(group.server, "a", _distance(facts, "a", internal)):
                told.add(site)
                yield _record(facts, group.server, group.scheme, "link", (), internal, now_ms)
        if dropped:
            self._refuse(facts, "dropped", "two-level", dropped)

    def _near(self, server: str, kind: str, far: Distance) -> bool:
        """Whether the frontier will not refuse a URL for its distance, or because no links are followed."""
        return self._limits.judge(server, kind, far) is ALLOWED

    def _refuse(self, facts: PageFacts, kind: VerdictKind, reason: str, count: int, url: str = "") -> None:
        self._tally.add(facts.server, kind, reason, count, Example(url or facts.url, facts.lease))

    def _refuse_link(self, facts: PageFacts, target: Target, times: int) -> None:
        assert isinstance(target, Refused)
        given_up = target.reason.startswith("redirect-")
        self._refuse(facts, "given-up" if given_up else "refused", target.reason, times, target.url)


def _number(found: Sequence[RawLink]) -> int:
    """How many links these are in their page."""
    return sum([link.times for link in found])


def _distance(facts: PageFacts, kind: str, internal: bool) -> Distance:
    """Paper 003: one deeper within a domain, 1 across domains; a redirect is where its source is, a requisite too.

    Sitemaps are named by robots.txt or given as seeds, and lead to their entries through one index at most. A list of URLs that is met
    anywhere else is a page like others, or lists that lead to lists would lead on for ever.
    """
    off_site = facts.off_site + (not internal)
    if kind == "redirect":
        return Distance(facts.depth, facts.hops, off_site)
    if kind == "requisite":
        return Distance(facts.depth, facts.hops + 1, off_site)
    if not internal or (kind == "sitemap" and facts.depth <= 1 and facts.hops < SITEMAP_HOPS):
        return Distance(1, facts.hops + 1, off_site)
    return Distance(facts.depth + 1, facts.hops + 1, off_site)


def _pieces(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Few enough for one record."""
    piece: list[Entry] = []
    size = 0
    for entry in entries:
        if len(piece) >= PATHS_PER_RECORD or size > BYTES_PER_RECORD:
            yield piece
            piece, size = [], 0
        piece.append(entry)
        size += len(entry.path)
    yield piece


def _record(
    facts: PageFacts, server: str, scheme: str, kind: str, chosen: Sequence[Entry], internal: bool, now_ms: int
) -> Discovered:
    far = _distance(facts, kind, internal)
    flags = tuple([entry.rel for entry in chosen])
    counts = tuple([entry.times for entry in chosen])
    lastmods = tuple([entry.lastmod_ms for entry in chosen]) if kind == "sitemap" else ()
    return Discovered(
        server=server,
        paths=tuple([entry.path for entry in chosen]),
        scheme="http" if scheme == "http" else "https",
        kind=kind,  # type: ignore[arg-type]
        flags=flags if any(flags) else (),
        counts=counts if max(counts, default=1) > 1 else (),
        lastmods_ms=lastmods if any(lastmods) else (),
        depth=far.depth,
        hops=far.hops,
        off_site=far.off_site,
        redirects=facts.redirects + 1 if kind == "redirect" else 0,
        seed=facts.seed,
        internal=internal,
        referrer=facts.url,
        referrer_lease=facts.lease,
        found_ms=now_ms,
    )
