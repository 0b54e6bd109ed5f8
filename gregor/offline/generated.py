"""A web that is made up: every page from its number, nothing stored, the same bytes for the same seed on every machine.

    from gregor.offline.generated import GeneratedWeb, WebShape

    web = GeneratedWeb(WebShape(pages=100_000, sites=1_000, seed=7))
    web.answer("s0.example", "/")           # bytes of a page; None: there is none
    web.urls(web.graph.everything)          # the oracle: every URL that a whole crawl asks for

Sizes of pages are log-normal around the profile's mean. What is not links is cut from one long piece: prose in the paper's profile, in
today's mostly markup, with attributes, pictures, scripts and style, as pages have it now.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from msgspec import Struct, convert

from gregor.offline.link_graph import NONE, Flags, LinkGraph, LinkShape, Words, mixed

ProfileName = Literal["paper", "today"]


class Profile(Struct, frozen=True):
    """What pages are like."""

    mean_bytes: int
    spread: float
    """Standard deviation of the size's logarithm."""
    links: int
    markup: bool = False
    """Whether text stands among elements, scripts and style; else it is bare."""


PROFILES: Final[Mapping[ProfileName, Profile]] = {
    # The mean of paper 004's eight million pages; the links of paper 000.
    "paper": Profile(22_300, 1.0, 59),
    # Pages as they are now: about 140 KB, half of them below 80.
    "today": Profile(140_000, 1.06, 90, markup=True),
}

MOST_SITES: Final = 10_000_000
"""Which a number each is kept of."""
QUANTILES: Final = 4096
"""Different sizes of pages."""
POOL: Final = 1 << 20
"""Characters of prose to cut text from."""
_PROSE: Final = (
    "one morning it woke before the household and found its ceiling near while outside rain fell against a window so that "
    "nobody in all these rooms would have said what hour was meant by so grey light nor why the alarm had gone unheard again "
    "if only sleep could go on longer until such foolishness were forgotten but there was always work and always travel with "
    "trains to catch and meals taken badly among people who never came any closer than yesterday"
)
_WORDS: Final = tuple(_PROSE.split())


class WebShape(Struct, frozen=True, kw_only=True):
    """What a generated web is made from."""

    pages: int
    sites: int
    seed: int = 1
    profile: ProfileName = "paper"
    beta: float = 0.30
    hidden: float = 0.05

    @property
    def graph(self) -> LinkShape:
        return LinkShape(
            pages=self.pages,
            sites=self.sites,
            seed=self.seed,
            links=PROFILES[self.profile].links,
            beta=self.beta,
            hidden=self.hidden,
        )


def shape_of(text: str) -> WebShape:
    """From ``PAGES,SITES,SEED`` and perhaps a profile behind it. Raises ValueError that says what was expected."""
    expected = f"PAGES,SITES,SEED and perhaps one of {', '.join(PROFILES)} behind it, such as 100000,1000,1"
    numbers, rest = text.split(",")[:3], text.split(",")[3:]
    if len(numbers) < 3 or not all(map(_is_number, numbers)) or rest not in ([], *([name] for name in PROFILES)):
        raise ValueError(f"expected {expected}, found {text[:80]!r}")
    pages, sites, seed = map(int, numbers)
    shape = WebShape(pages=pages, sites=sites, seed=seed, profile=convert(rest[0], ProfileName) if rest else "paper")
    if sites > MOST_SITES:
        raise ValueError(f"expected at most {MOST_SITES:,} sites, found {sites:,}")
    shape.graph  # noqa: B018  refuses what is no web
    return shape


class GeneratedWeb:
    """Any page of one shape, by its number or by its server and path."""

    def __init__(self, shape: WebShape, servers: Sequence[str] = ()) -> None:
        """``servers`` are the names of the sites, for who serves them somewhere; without them site 12 is ``s12.example``."""
        self.shape = shape
        self.graph = LinkGraph(shape.graph)
        self._servers = servers
        self._sites = {server: site for site, server in enumerate(servers)}
        self._sizes = page_sizes(PROFILES[shape.profile])
        self._pool = _prose(shape.seed)
        self._bounds: Sequence[int] = ()
        if PROFILES[shape.profile].markup:
            self._pool, self._bounds = _markup(self._pool)
        self._starts: list[int] = self.graph.starts.tolist()
        self._draw = mixed(np.array([(shape.seed + 1) % 2**64], dtype=np.uint64))

    def seeds(self, sites: int = 1) -> list[str]:
        """The roots of the first sites; from the first one everything is reached."""
        return [self.url(self._starts[site]) for site in range(min(sites, self.shape.sites))]

    def server(self, site: int) -> str:
        return self._servers[site] if self._servers else f"s{site}.example"

    def url(self, page: int) -> str:
        return self._url(page, int(self.graph.sites_of(np.array([page]))[0]))

    def urls(self, wanted: Flags) -> Iterator[str]:
        """Those of all pages that are wanted, as the graph's answers give them."""
        pages = np.flatnonzero(wanted)
        for page, site in zip(pages.tolist(), self.graph.sites_of(pages).tolist(), strict=True):
            yield self._url(page, site)

    def page_of(self, server: str, path: str) -> int | None:
        """The page with this address; None: there is none."""
        site = self._site_of(server)
        number = "0" if path == "/" else path[2:] if path.startswith("/p") else ""
        if site is None or not _is_number(number) or path == "/p0":
            return None
        page = self._starts[site] + int(number)
        return page if page < self._starts[site + 1] else None

    def answer(self, server: str, path: str) -> bytes | None:
        page = self.page_of(server, path)
        return None if page is None else self.body(page)

    def body(self, page: int) -> bytes:
        """The page as HTML."""
        number = np.array([page])
        site = int(self.graph.sites_of(number)[0])
        targets = self.graph.links(number)[0]
        targets = targets[targets != NONE]
        sites = self.graph.sites_of(targets)
        places = zip((targets - self.graph.starts[sites]).tolist(), sites.tolist(), strict=True)
        server = self.server
        hrefs = [_path(local) if its == site else f"http://{server(its)}{_path(local)}" for local, its in places]
        draw = int(mixed(number.astype(np.uint64) ^ self._draw)[0])
        title = f"Page {page - self._starts[site]} of site {site}"
        return self._laid_out(title, hrefs, self._sizes[draw % QUANTILES], draw // QUANTILES)

    def _laid_out(self, title: str, hrefs: Sequence[str], size: int, draw: int) -> bytes:
        """Links with text behind each, so that the page has the size that was drawn if its links leave room."""
        head = f'<!doctype html><html lang="en"><head><title>{title}</title></head><body><h1>{title}</h1>\n'
        room = size - len(head) - len(_END) - sum(map(len, hrefs)) - _AROUND * len(hrefs)
        each = max(_ANCHOR + 12, room // max(1, len(hrefs)))
        parts = self._among_elements(hrefs, each, draw) if self._bounds else self._in_prose(hrefs, each, room, draw)
        return "".join((head, *parts, _END)).encode()

    def _in_prose(self, hrefs: Sequence[str], each: int, room: int, draw: int) -> Iterator[str]:
        pool, at = self._pool, draw % POOL
        for href in hrefs:
            at = (at + each) % POOL
            yield f'<p><a href="{href}">{pool[at : at + _ANCHOR]}</a> {pool[at + _ANCHOR : at + each]}</p>\n'
        yield pool[at : at + max(0, room - each * len(hrefs))]

    def _among_elements(self, hrefs: Sequence[str], each: int, draw: int) -> Iterator[str]:
        """Whole elements behind each link; what is left over of a link's share goes to the next."""
        pool, bounds = self._pool, self._bounds
        half = len(bounds) // 2
        at, owed = bounds[draw % half], 0
        for number, href in enumerate(hrefs, draw):
            owed += each
            end = bounds[bisect_right(bounds, at + owed) - 1]
            yield f'<p class="more"><a href="{href}">{_WORDS[number % len(_WORDS)]}</a></p>\n{pool[at:end]}'
            owed -= end - at
            at = end if end < bounds[half] else end - bounds[half]

    def _url(self, page: int, site: int) -> str:
        return f"http://{self.server(site)}{_path(page - self._starts[site])}"

    def _site_of(self, server: str) -> int | None:
        if self._servers:
            return self._sites.get(server)
        number = server[1:].removesuffix(".example")
        if server[:1] != "s" or len(number) + 9 != len(server) or not _is_number(number):
            return None
        return int(number) if int(number) < self.shape.sites else None


_ANCHOR: Final = 12
_AROUND: Final = len('<p><a href=""></a> </p>\n')
_END: Final = "</body></html>\n"
_LONGEST_NUMBER: Final = 13


def _path(local: int) -> str:
    return f"/p{local}" if local else "/"


def _is_number(text: str) -> bool:
    """As we write it: no sign, no leading zero, no other digits than ASCII's."""
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER and (text == "0" or text[0] != "0")


def page_sizes(profile: Profile) -> list[int]:
    """The sizes that are drawn from, each as likely as any other: quantiles of the log-normal distribution, with the mean as wanted."""
    normal = NormalDist()
    raw = [math.exp(profile.spread * normal.inv_cdf((at + 0.5) / QUANTILES)) for at in range(QUANTILES)]
    scale = profile.mean_bytes * QUANTILES / math.fsum(raw)
    return [round(one * scale) for one in raw]


def _prose(seed: int) -> str:
    """One long piece of prose in words of different frequency, twice over so that a slice may begin anywhere in the first half."""
    count = POOL // 4
    drawn: Words = mixed(np.arange(count, dtype=np.uint64) + np.uint64(seed % 2**32) * np.uint64(1 << 24))
    # The smaller of two draws: early words are frequent, as in any language.
    size = np.uint64(len(_WORDS))
    first, second = (drawn >> np.uint64(8)) % size, (drawn >> np.uint64(32)) % size
    words = [_WORDS[at] for at in np.minimum(first, second).tolist()]
    text = " ".join(words)[:POOL]
    assert len(text) == POOL
    return text + text


def _markup(prose: str) -> tuple[str, list[int]]:
    """The prose among elements, twice over, and where an element ends and the next one may begin. None of them leads anywhere."""
    parts: list[str] = []
    at = 0
    while at < POOL - 1000:
        number = len(parts)
        words = prose[at : at + 120 + number % 7 * 40]
        at += len(words)
        match number % 10:
            case 0 | 5:
                told = f'window.queue=window.queue||[];queue.push({{"id":{number},"words":"{words}","shown":[1,2,{number}]}});'
                parts.append(f"<script>{told}</script>\n")
            case 3:
                parts.append(
                    f"<style>.c{number}{{margin:0 {number % 40}px;color:#{number * 7919 % 0xFFFFFF:06x}}}</style>\n"
                )
            case 7:
                parts.append(
                    f'<img class="lazy c{number % 97}" src="data:," alt="{words[:24]}" width="320" height="200">\n'
                )
            case _:
                parts.append(
                    f'<div class="card c{number % 97} wide" data-id="{number}"><span class="label">{words[:30]}</span> <b>{words[30:60]}'
                    f'</b><i class="icon" aria-hidden="true"></i>{words[60:]}</div>\n'
                )
    bounds = [0]
    for part in parts + parts:
        bounds.append(bounds[-1] + len(part))
    return "".join(parts) * 2, bounds
