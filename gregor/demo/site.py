"""The demo site: which URLs it has, what each one answers, and which of them a complete crawl asks for.

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

from gregor.demo.page import Link, render
from gregor.demo.prose import SECTIONS, name, paragraphs

OUTSIDE: Final = "http://out-of-scope.invalid/"
ROBOTS: Final = "/robots.txt"
MISSING: Final = ("/missing/wing.html", "/missing/leg.html?pair=3")
_CHILDREN: Final = 4
_A_BEETLE: Final = len(SECTIONS)
_HTML: Final = "text/html; charset=utf-8"


class Answer(msgspec.Struct, frozen=True):
    """What the server sends."""

    status: int
    body: str
    content_type: str = _HTML
    location: str = ""
    """For redirects."""


class DemoSite(msgspec.Struct, frozen=True):
    """A site of `hosts` times `pages_per_host` pages. `serve` gives it its port."""

    seed: int = 1
    hosts: int = 4
    pages_per_host: int = 15
    port: int = 0

    def address(self, host: int) -> str:
        """127.0.0.1, 127.0.0.2, … and on through 127.0.0.0/8."""
        return f"127.{host // 254 // 254}.{host // 254 % 254}.{host % 254 + 1}"

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
        return {self.url(host, path) for host in range(self.hosts) for path in _paths(self.pages_per_host)}

    def urls(self) -> set[str]:
        """Canonical URLs that a crawl of all hosts asks for, each exactly once (robots.txt apart)."""
        extra = {self.url(host, path) for host in range(self.hosts) for path in (*self._redirects(host), *MISSING)}
        return self.pages() | extra

    def answer(self, address: str, path: str) -> Answer:
        """What the host of this address says to a request for path and query."""
        host = _hosts(self.hosts)[address]
        number = _paths(self.pages_per_host).get(path)
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
        last = _path(self.pages_per_host - 1)
        return {
            "/old/entrance": (301, "/"),
            "/hop/1": (302, "/hop/2"),
            "/hop/2": (301, "3"),
            "/hop/3": (302, self.url((host + 1) % self.hosts, last)),
            "/leave": (302, OUTSIDE + "door"),
        }

    def _page(self, host: int, number: int) -> str:
        random = Random(f"{self.seed}/{host}/{number}")
        heading = name(_section(number), number) if number else f"Museum of insects, house {host + 1}"
        return render(
            f"The {heading}" if number else heading,
            paragraphs(random, random.randint(2, 4)),
            [*self._navigation(host, number), *self._spellings(host, number)],
        )

    def _navigation(self, host: int, number: int) -> Iterator[Link]:
        here = _path(number)
        yield Link(_relative(here, "/"), "Entrance")
        if number:
            yield Link(_relative(here, _path((number - 1) // _CHILDREN)), "Up")
            yield Link(_path(number - 1), "Previous drawer")
        if number + 1 < self.pages_per_host:
            yield Link(_path(number + 1), "Next drawer", rel="next")
        for child in _children(number, self.pages_per_host):
            yield Link(_relative(here, _path(child)), f"Drawer {child}")
        neighbour = (host + 1) % self.hosts
        yield Link(self.url(neighbour, here), f"The same drawer in house {neighbour + 1}")
        if number == 0:
            for other in _children(host, self.hosts):
                yield Link(f"//{self.address(other)}:{self.port}/", f"House {other + 1}")
            for path in (*self._redirects(host), *MISSING):
                if path not in ("/hop/2", "/hop/3"):
                    yield Link(path, path)

    def _spellings(self, host: int, number: int) -> Iterator[Link]:
        """Links that say again what others said, or that no crawl of this site follows."""
        here, address = _path(number), self.address(host)
        yield Link("#top", "Top")
        yield Link(f"{here}#wings", "Wings")
        yield Link(f"/attic/.././cellar/..{here}", "By the back stairs")
        yield Link(f"HTTP://0X7F{address.removeprefix('127')}:{self.port}{here}", "In the old spelling")
        if self.pages_per_host > _A_BEETLE:
            yield Link("/%62" + _path(_A_BEETLE).removeprefix("/b"), "A beetle, escaped")
        yield Link(OUTSIDE + f"?from={number}", "Another museum", rel="nofollow")
        yield Link("mailto:porter@museum.invalid", "Write to the porter")
        yield Link("javascript:history.back()", "Back")
        yield Link("tel:+420000000000", "Call")


def _section(number: int) -> str:
    return SECTIONS[number % len(SECTIONS)]


def _path(number: int) -> str:
    if number == 0:
        return "/"
    if number % 7 == 3:
        return f"/drawers?number={number}"
    section = _section(number)
    return f"/{section}/{name(section, number).replace(' ', '-')}-{number}.html"


def _children(number: int, count: int) -> range:
    first = _CHILDREN * number + 1
    return range(min(first, count), min(first + _CHILDREN, count))


def _relative(here: str, target: str) -> str:
    return ("../" if here.count("/") > 1 else "./" if target == "/" else "") + target[1:]


@lru_cache(maxsize=8)
def _paths(pages: int) -> dict[str, int]:
    return {_path(number): number for number in range(pages)}


@lru_cache(maxsize=8)
def _hosts(hosts: int) -> dict[str, int]:
    return {address: host for host, address in enumerate(DemoSite(hosts=hosts).addresses())}
