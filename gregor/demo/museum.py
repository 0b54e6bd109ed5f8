"""The bundled site: a museum of a dozen houses, each a loopback address, that has most of what a crawler meets.

It is generated, and the same every time: a page is a function of its house and its path. It knows what a complete crawl with
SETTINGS asks for, and how often: see `asked`. Only of the endless calendar it knows the number of requests alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

import msgspec

from gregor.demo import traps, wings
from gregor.demo.answer import OUTSIDE, ROBOTS, Answer, loopback
from gregor.demo.page import PageLink, Sheet, dressed
from gregor.demo.pictures import picture_of, requisites
from gregor.demo.prose import name, paragraphs
from gregor.demo.tree import A_BEETLE, children_of, numbers, parent_of, path_of, relative, section_of

SETTINGS: Final[Mapping[str, object]] = MappingProxyType(
    {
        "fetch.delay_s": 0.0,
        # The site shares two cores with its crawler: its answers are late because of us.
        "fetch.delay_factor": 0.0,
        "fetch.allow_addresses": ("127.0.0.0/8",),
        "extract.requisites": True,
        "retry.first_s": 0.5,
        "traps.query_variants": traps.MONTHS,
    }
)
"""What the demo sets beyond defaults: no delay on loopback, pictures too, soon again after an error, and a shorter calendar."""

_TEXT: Final = "text/plain; charset=utf-8"
_COPIES: Final = 12


class House(msgspec.Struct, frozen=True, kw_only=True):
    """One host."""

    name: str
    pages: int
    """Drawers, at least 6: one of each section."""
    rules: str | None = ""
    """Lines of its robots.txt for everybody; None: it has none, and answers 404."""
    delay_s: float = 0.0
    """How long each of its answers takes."""
    crowded: bool = False
    staff: bool = False
    vault: bool = False
    mirrors: bool = False
    calendar: bool = False


HOUSES: Final = (
    House(name="Main hall", pages=420, crowded=True),
    House(name="House of wings", pages=400, staff=True, rules=wings.STAFF_RULES),
    House(name="House of mirrors", pages=300, mirrors=True),
    House(name="House of hours", pages=340, calendar=True),
    House(name="House with a vault", pages=320, vault=True),
    House(name="Night house", pages=300, staff=True, rules=wings.STAFF_RULES),
    House(name="House without rules", pages=280, rules=None),
    House(name="Garden house", pages=260),
    House(name="House by the river", pages=240),
    House(name="Annexe", pages=200),
    House(name="Reading room", pages=40, rules="Crawl-delay: 0.05\n"),
    House(name="House of the old porter", pages=20, delay_s=0.15),
)


class Museum(msgspec.Struct, frozen=True):
    """The houses, as far as `houses` goes, on one port; `serve` gives it one."""

    port: int = 0
    houses: tuple[House, ...] = HOUSES

    def at(self, port: int) -> Museum:
        return msgspec.structs.replace(self, port=port)

    def addresses(self) -> list[str]:
        return [loopback(host) for host in range(len(self.houses))]

    def url(self, host: int, path: str) -> str:
        if not self.port:
            raise ValueError("expected a museum with a port, found none; ask the site that serve() gives")
        return f"http://{loopback(host)}:{self.port}{path}"

    @property
    def seeds(self) -> list[str]:
        """The first page of every house."""
        return [self.url(host, "/") for host in range(len(self.houses))]

    def pages(self) -> set[str]:
        """The drawers of all houses."""
        return {self.url(host, path) for host, house in enumerate(self.houses) for path in numbers(house.pages)}

    def asked(self) -> Counter[str]:
        """How often a complete crawl asks for each URL; robots.txt and the calendar apart."""
        asked: Counter[str] = Counter()
        for host, house in enumerate(self.houses):
            paths: Counter[str] = Counter([*numbers(house.pages), *requisites()])
            for wing in self._wings(host):
                paths.update(wing.asked)
            if house.mirrors:
                paths.update(traps.mirrors_asked())
            asked.update({self.url(host, path): times for path, times in paths.items()})
        return asked

    def urls(self) -> set[str]:
        return set(self.asked())

    def is_endless(self, url: str) -> bool:
        """Whether the URL is one of the calendar, of which MONTHS are asked for, whichever are found first."""
        parts = urlsplit(url)
        return parts.path == traps.CALENDAR and bool(parts.query)

    @property
    def endless_asked(self) -> int:
        """How many URLs of calendars a complete crawl asks for."""
        return traps.MONTHS * sum(house.calendar for house in self.houses)

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        host = self.addresses().index(address)
        house = self.houses[host]
        answer = self._answer(host, house, path, earlier)
        return msgspec.structs.replace(answer, delay_s=house.delay_s) if house.delay_s else answer

    def _answer(self, host: int, house: House, path: str, earlier: int) -> Answer:
        number = numbers(house.pages).get(path)
        if number is not None:
            return Answer(200, self._page(host, number))
        if path in requisites():
            return requisites()[path]
        if path == ROBOTS and house.rules is not None:
            return Answer(200, self._robots(host), _TEXT)
        for wing in self._wings(host):
            if path in wing.answers:
                answers = wing.answers[path]
                return answers[min(earlier, len(answers) - 1)]
        endless = (house.mirrors and traps.mirrors(house.name, path)) or (
            house.calendar and traps.calendar(house.name, path)
        )
        return endless or Answer(404, "Not in the collection.\n", _TEXT)

    def _robots(self, host: int) -> str:
        house = self.houses[host]
        sitemap = f"Sitemap: {self.url(host, wings.SITEMAP)}\n" if house.vault else ""
        return f"User-agent: *\n{house.rules or 'Allow: /'}\n\n{sitemap}"

    def _wings(self, host: int) -> tuple[wings.Wing, ...]:
        return _wings(self, host)

    def _page(self, host: int, number: int) -> str:
        house = self.houses[host]
        random = Random(f"{host}/{number}")
        heading = f"The {name(section_of(number), number)}" if number else house.name
        return dressed(
            Sheet(
                house=house.name,
                title=heading,
                paragraphs=tuple(paragraphs(random, random.randint(2, 4))),
                links=(*self._navigation(host, number), *self._spellings(host, number)),
                picture=picture_of(section_of(number)),
            )
        )

    def _navigation(self, host: int, number: int) -> Iterator[PageLink]:
        here, house = path_of(number), self.houses[host]
        yield PageLink(relative(here, "/"), "Entrance")
        if number:
            yield PageLink(relative(here, path_of(parent_of(number))), "Up")
            yield PageLink(path_of(number - 1), "Previous drawer")
        if number + 1 < house.pages:
            yield PageLink(path_of(number + 1), "Next drawer", rel="next")
        for child in children_of(number, house.pages):
            yield PageLink(relative(here, path_of(child)), f"Drawer {child}")
        neighbour = (host + 1) % len(self.houses)
        if number < self.houses[neighbour].pages:
            yield PageLink(self.url(neighbour, here), f"The same drawer in the {self.houses[neighbour].name}")
        if number == 0:
            yield from self._signs(host)

    def _signs(self, host: int) -> Iterator[PageLink]:
        house = self.houses[host]
        for other, one in enumerate(self.houses):
            if other != host:
                yield PageLink(f"//{loopback(other)}:{self.port}/", one.name)
        for wing in self._wings(host):
            yield from wing.links
        if house.mirrors:
            yield PageLink(traps.MIRRORS, "Hall of mirrors")
        if house.calendar:
            yield PageLink(traps.FIRST_MONTH, "Opening hours")

    def _spellings(self, host: int, number: int) -> Iterator[PageLink]:
        """Links that say again what others said, or that no crawl of this site follows."""
        here, address = path_of(number), loopback(host)
        yield PageLink(f"{here}#wings", "Wings")
        yield PageLink(f"/attic/.././cellar/..{here}", "By the back stairs")
        yield PageLink(f"HTTP://0X7F{address.removeprefix('127')}:{self.port}{here}", "In the old spelling")
        yield PageLink("/%62" + path_of(A_BEETLE).removeprefix("/b"), "A beetle, escaped")
        yield PageLink(OUTSIDE + f"?from={number}", "Another museum", rel="nofollow")
        yield PageLink("mailto:porter@museum.invalid", "Write to the porter")


@lru_cache(maxsize=256)
def _wings(museum: Museum, host: int) -> tuple[wings.Wing, ...]:
    house, after = museum.houses[host], (host + 1) % len(museum.houses)
    drawers = tuple(numbers(house.pages))
    originals = [number for number in range(1, house.pages) if path_of(number).count("/") == 2][:_COPIES]
    found = [
        wings.doors(museum.url(after, path_of(1))),
        wings.mishaps(house.name),
        wings.copies({f"/print/{number}.html": museum._page(host, number) for number in originals}),
        wings.papers(house.name, tuple(museum.url(host, path) for path in drawers[-5:])),
    ]
    if house.crowded:
        found.append(wings.crowd(house.name))
    if house.staff:
        found.append(wings.staff(house.name))
    if house.vault:
        found.append(wings.vault(house.name, museum.url(host, "").rstrip("/"), drawers[:50]))
    return tuple(found)
