"""A small plain site of any size: which URLs it has, what each one answers, and which of them a complete crawl asks for.

Every host is a loopback address, all with one port. Pages of a host form a tree of four children each, so that a site
of any size is reached from its first page; the first pages of the hosts form such a tree as well. Beside its pages
every host has redirects (one of them a chain that ends on another host, one that leaves the site) and links that lead
nowhere. Nothing is stored: a page is a function of the seed, its host and its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import Final

import msgspec

from gregor.demo.answer import OUTSIDE, ROBOTS, Answer, loopback
from gregor.demo.page import PageLink, render
from gregor.demo.prose import name, paragraphs
from gregor.demo.tree import A_BEETLE, children_of, numbers, parent_of, path_of, relative, section_of

MISSING: Final = ("/missing/wing.html", "/missing/leg.html?pair=3")


class DemoSite(msgspec.Struct, frozen=True):
    """A site of `hosts` times `pages_per_host` pages. `serve` gives it its port."""

    seed: int = 1
    hosts: int = 4
    pages_per_host: int = 15
    port: int = 0

    def at(self, port: int) -> DemoSite:
        return msgspec.structs.replace(self, port=port)

    def address(self, host: int) -> str:
        return loopback(host)

    def addresses(self) -> list[str]:
        return [self.address(host) for host in range(self.hosts)]

    def url(self, host: int, path: str) -> str:
        if not self.port:
            raise ValueError("expected a demo site with a port, found none; ask the site that serve() gives")
        return f"http://{self.address(host)}:{self.port}{path}"

    @property
    def seeds(self) -> list[str]:
        """The first page of every host, so that a crawl of the seeds' hosts is a crawl of the site; one would do."""
        return [self.url(host, "/") for host in range(self.hosts)]

    def pages(self) -> set[str]:
        """Canonical URLs that answer 200 with a page."""
        return {self.url(host, path) for host in range(self.hosts) for path in numbers(self.pages_per_host)}

    def urls(self) -> set[str]:
        """Canonical URLs that a crawl of all hosts asks for, each exactly once (robots.txt apart)."""
        extra = {self.url(host, path) for host in range(self.hosts) for path in (*self._redirects(host), *MISSING)}
        return self.pages() | extra

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        """What the host of this address says to a request for path and query."""
        host = _hosts(self.hosts)[address]
        number = numbers(self.pages_per_host).get(path)
        if number is not None:
            return Answer(200, self._page(host, number))
        location = self._redirects(host).get(path)
        if location is not None:
            status, target = location
            return Answer(status, "", location=target)
        if path == ROBOTS:
            return Answer(200, "User-agent: *\nAllow: /\n", content_type="text/plain; charset=utf-8")
        return Answer(404, render("Not in the collection", ["No drawer of this number was found."], []))

    def _redirects(self, host: int) -> dict[str, tuple[int, str]]:
        """Path → (status, Location)."""
        last = path_of(self.pages_per_host - 1)
        return {
            "/old/entrance": (301, "/"),
            "/hop/1": (302, "/hop/2"),
            "/hop/2": (301, "3"),
            "/hop/3": (302, self.url((host + 1) % self.hosts, last)),
            "/leave": (302, OUTSIDE + "door"),
        }

    def _page(self, host: int, number: int) -> str:
        random = Random(f"{self.seed}/{host}/{number}")
        heading = name(section_of(number), number) if number else f"Museum of insects, house {host + 1}"
        return render(
            f"The {heading}" if number else heading,
            paragraphs(random, random.randint(2, 4)),
            [*self._navigation(host, number), *self._spellings(host, number)],
        )

    def _navigation(self, host: int, number: int) -> Iterator[PageLink]:
        here = path_of(number)
        yield PageLink(relative(here, "/"), "Entrance")
        if number:
            yield PageLink(relative(here, path_of(parent_of(number))), "Up")
            yield PageLink(path_of(number - 1), "Previous drawer")
        if number + 1 < self.pages_per_host:
            yield PageLink(path_of(number + 1), "Next drawer", rel="next")
        for child in children_of(number, self.pages_per_host):
            yield PageLink(relative(here, path_of(child)), f"Drawer {child}")
        neighbour = (host + 1) % self.hosts
        yield PageLink(self.url(neighbour, here), f"The same drawer in house {neighbour + 1}")
        if number == 0:
            for other in children_of(host, self.hosts):
                yield PageLink(f"//{self.address(other)}:{self.port}/", f"House {other + 1}")
            for path in (*self._redirects(host), *MISSING):
                if path not in ("/hop/2", "/hop/3"):
                    yield PageLink(path, path)

    def _spellings(self, host: int, number: int) -> Iterator[PageLink]:
        """Links that say again what others said, or that no crawl of this site follows."""
        here, address = path_of(number), self.address(host)
        yield PageLink("#top", "Top")
        yield PageLink(f"{here}#wings", "Wings")
        yield PageLink(f"/attic/.././cellar/..{here}", "By the back stairs")
        yield PageLink(f"HTTP://0X7F{address.removeprefix('127')}:{self.port}{here}", "In the old spelling")
        if self.pages_per_host > A_BEETLE:
            yield PageLink("/%62" + path_of(A_BEETLE).removeprefix("/b"), "A beetle, escaped")
        yield PageLink(OUTSIDE + f"?from={number}", "Another museum", rel="nofollow")
        yield PageLink("mailto:porter@museum.invalid", "Write to the porter")
        yield PageLink("javascript:history.back()", "Back")
        yield PageLink("tel:+420000000000", "Call")


@lru_cache(maxsize=8)
def _hosts(hosts: int) -> dict[str, int]:
    return {address: host for host, address in enumerate(DemoSite(hosts=hosts).addresses())}
