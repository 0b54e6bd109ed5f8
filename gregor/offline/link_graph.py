"""A web as numbers: how many pages each site has, which page links to which, and which can be reached.

Pages are numbered through, site after site; the first page of a site is its root. Nothing is stored but where each site begins: links are
computed from the numbers, for many pages at once, in whole numbers alone, so that they are the same on every machine.

    sites      the site of rank r has about 1/r of the largest one's pages: a power law, of which every site has at least one page
    inside     a page links to pages of its site at random; a tree below the root makes sure that each is reached
    outside    a share ``beta`` of its links leads to other sites, every other one of them to a root; a tree of the roots does the same
    hidden     a share of each site's pages, the last ones, is linked from other sites alone: whoever follows only links within a site
               from its root misses them (the coverage problem). It holds while no site has half of all pages, so from 4 sites on
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

BRANCHES: Final = 8
"""Of a page in the tree of its site, and of a root in the tree of roots."""
NONE: Final = -1
TOGETHER: Final = 32_768
"""Pages whose links are computed at once by the oracle."""


class LinkShape(Struct, frozen=True, kw_only=True):
    """What the graph is made from; the same shape is the same graph."""

    pages: int
    sites: int
    seed: int = 1
    links: int = 59
    """Of a page, beside those of the trees; 59 is paper 000's figure."""
    beta: float = 0.30
    """Share of links to other sites; 0.30 is what reproduces paper 000's table 2."""
    hidden: float = 0.05
    """Share of a site's pages to which only other sites link."""

    def __post_init__(self) -> None:
        if not 1 <= self.sites <= self.pages <= 10**12:
            raise ValueError(
                f"expected at least 1 site and a page for each, found {self.pages} pages, {self.sites} sites"
            )
        if not (0 <= self.beta <= 1 and 0 <= self.hidden <= 0.5 and 0 <= self.links <= 1000):
            raise ValueError(
                f"expected beta within 0 and 1, hidden within 0 and 0.5, at most 1,000 links, found {self}"
            )


class LinkGraph:
    """Links and reachability of one shape."""

    def __init__(self, shape: LinkShape) -> None:
        self.shape = shape
        self.sizes: Final = site_sizes(shape.pages, shape.sites)
        """Pages of each site, the largest first."""
        self.starts: Final = np.concatenate(([0], np.cumsum(self.sizes)))
        """The first page of each site, and the number of all pages."""
        hidden = (self.sizes * round(shape.hidden * 1000)) // 1000 if shape.sites > 1 else np.zeros_like(self.sizes)
        self._open: Final[Numbers] = self.sizes - hidden
        self._open_starts: Final = np.concatenate(([0], np.cumsum(self._open)))
        self._hidden_starts: Final = np.concatenate(([0], np.cumsum(hidden)))
        self._slots: Final = np.arange(1, shape.links + 1, dtype=np.uint64) * _GOLDEN
        self._seed: Final = mixed(np.array([shape.seed % 2**64], dtype=np.uint64))

    def sites_of(self, pages: Numbers) -> Numbers:
        found: Numbers = np.searchsorted(self.starts, pages, side="right") - 1
        return found

    def is_hidden(self, pages: Numbers) -> Flags:
        """Whether only other sites link to them."""
        sites = self.sites_of(pages)
        hidden: Flags = pages - self.starts[sites] >= self._open[sites]
        return hidden

    def links(self, pages: Numbers) -> Numbers:
        """A row of targets for each page; ``NONE`` fills it. A target may stand there twice, as on real pages."""
        sites = self.sites_of(pages)
        local = pages - self.starts[sites]
        columns = [self._random(pages, sites)]
        if (local * BRANCHES + 1 < self._open[sites]).any():
            columns.append(self._tree(sites, local))
        if not local.all():
            columns.append(self._roots(sites, local))
        if self._hidden_starts[-1]:
            columns.append(self._lone(sites, local)[:, None])
        return np.concatenate(columns, axis=1)

    def _random(self, pages: Numbers, sites: Numbers) -> Numbers:
        shape = self.shape
        own = mixed(pages.astype(np.uint64) ^ self._seed)[:, None]
        drawn = mixed(own + self._slots)
        starts, opened = self.starts[sites][:, None], self._open[sites][:, None]
        inside = starts + _below(drawn, opened)
        if shape.sites == 1 or not shape.beta:
            return inside
        # So many of a row lead outside, with the rest of the share left to chance.
        whole, rest = divmod(round(shape.links * shape.beta * 1000), 1000)
        outside = whole + (_below(own >> _U(32), np.int64(1000)) < rest)
        there = _below(drawn >> _U(20), np.int64(shape.pages))
        there = np.where(self.sites_of(there) == sites[:, None], (there + shape.pages // 2) % shape.pages, there)
        target = self.sites_of(there)
        there = np.where((drawn & _U(1)).astype(bool), self.starts[target], there)
        leads_out = (np.arange(shape.links) < outside) & (target != sites[:, None])
        return np.where(leads_out, there, inside)

    def _tree(self, sites: Numbers, local: Numbers) -> Numbers:
        """To the pages below it, from a page that is not hidden."""
        opened = self._open[sites]
        below = local[:, None] * BRANCHES + np.arange(1, BRANCHES + 1)
        there = (below < opened[:, None]) & (local < opened)[:, None]
        return np.where(there, below + self.starts[sites][:, None], NONE)

    def _roots(self, sites: Numbers, local: Numbers) -> Numbers:
        """From the root of one site to those of others."""
        below = sites[:, None] * BRANCHES + np.arange(1, BRANCHES + 1)
        there = (below < self.shape.sites) & (local == 0)[:, None]
        return np.where(there, self.starts[np.where(there, below, 0)], NONE)

    def _lone(self, sites: Numbers, local: Numbers) -> Numbers:
        """The hidden page that this page is the one to link to: both kinds are numbered through, spread evenly, half a web apart."""
        count, many = int(self._hidden_starts[-1]), int(self._open_starts[-1])
        place = (self._open_starts[sites] + local - many // 2) % many
        hidden = -(-place * count // many)
        there = (local < self._open[sites]) & (hidden < count) & (hidden * many // count == place)
        hidden = np.where(there, hidden, 0)
        owner = np.searchsorted(self._hidden_starts, hidden, side="right") - 1
        page = self.starts[owner] + self._open[owner] + hidden - self._hidden_starts[owner]
        return np.where(there, page, NONE)

    @cached_property
    def everything(self) -> Flags:
        """Which pages are reached from the first site's root."""
        return self.reachable([0])

    def reachable(self, seeds: Sequence[int]) -> Flags:
        """Which pages are reached from these, by any links."""
        return self._walked(seeds, roots_alone=False)

    def reachable_by_site(self, seeds: Sequence[int]) -> Flags:
        """Which pages are reached when a link to another site leads to its root and no further: what a crawler finds that is told of
        sites alone, and not of their pages."""
        return self._walked(seeds, roots_alone=True)

    def _walked(self, seeds: Sequence[int], *, roots_alone: bool) -> Flags:
        seen = np.zeros(self.shape.pages, dtype=np.bool_)
        wave = np.unique(np.asarray(seeds, dtype=np.int64))
        seen[wave] = True
        while wave.size:
            found = []
            for targets in self._followed(wave, roots_alone):
                fresh = np.unique(targets[~seen[targets]])
                seen[fresh] = True
                found.append(fresh)
            wave = np.concatenate(found)
        return seen

    def _followed(self, wave: Numbers, roots_alone: bool) -> Iterator[Numbers]:
        for at in range(0, len(wave), TOGETHER):
            pages = wave[at : at + TOGETHER]
            links = self.links(pages)
            if roots_alone:
                sites = self.sites_of(links)
                links = np.where(sites == self.sites_of(pages)[:, None], links, self.starts[np.maximum(sites, 0)])
                links[sites < 0] = NONE
            yield links[links >= 0]


_U: Final = np.uint64
_GOLDEN: Final = _U(0x9E3779B97F4A7C15)


def mixed(words: Words) -> Words:
    """The finaliser of splitmix64."""
    words = (words ^ (words >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> _U(27))) * _U(0x94D049BB133111EB)
    return words ^ (words >> _U(31))


def _below(words: Words, bound: Numbers | np.int64) -> Numbers:
    """Numbers from 0 to below the bound."""
    found: Numbers = (words % np.asarray(bound).astype(np.uint64)).astype(np.int64)
    return found


def site_sizes(pages: int, sites: int) -> Numbers:
    """The power law, in whole numbers: the site of rank r has largest // r pages and at least one; the largest takes the rest."""
    ranks = np.arange(1, sites + 1, dtype=np.int64)
    low, high = 1, pages
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.maximum(middle // ranks, 1).sum()) <= pages:
            low = middle
        else:
            high = middle - 1
    sizes: Numbers = np.maximum(low // ranks, 1)
    sizes[0] += pages - int(sizes.sum())
    return sizes
