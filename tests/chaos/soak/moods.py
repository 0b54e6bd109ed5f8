"""How the servers of the soak misbehave: every class of tests/hostile, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from random import Random
from types import ModuleType
from typing import Final

from msgspec import Struct

import tests.hostile
from tests.hostile import pages, servers, site_files, wire
from tests.hostile.web import Server

Kind = type[Server]

_NOT_DRAWN: Final = frozenset(
    {servers.NeverAccepts, wire.BadHandshake, pages.Farm, site_files.OpenRobots, site_files.PlainSitemap}
)
"""They are met at the door, or behave."""
HEAVY: Final[tuple[Kind, ...]] = (
    pages.ManyLinks,
    pages.LongLinks,
    pages.LinksAbroad,
    pages.DeepNesting,
    pages.ManyAttributes,
)
"""Pages that take tenths of a second to read: with many of them this would be a test of how fast pages are read."""


def _kinds(module: ModuleType) -> tuple[Kind, ...]:
    """Every misbehaviour of a module; a class with subclasses is what they have in common. In order, so that a seed draws the same."""
    found = {one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Server)}
    drawn = [
        one for one in found - _NOT_DRAWN - set(HEAVY) if one.__module__ == module.__name__ and not one.__subclasses__()
    ]
    return tuple(sorted(drawn, key=lambda one: one.__name__))


def _modules() -> Iterator[ModuleType]:
    """Where misbehaviours are: a new one joins the soak by being there."""
    for module in sorted(one.name for one in iter_modules(tests.hostile.__path__)):
        if not module.startswith(("test_", "conftest")):
            yield import_module(f"tests.hostile.{module}")


IN_PAGES: Final = _kinds(pages)
IN_FILES: Final = _kinds(site_files)
ON_THE_WIRE: Final = tuple(
    kind for module in _modules() for kind in _kinds(module) if kind not in (*IN_PAGES, *IN_FILES)
)

DOORS: Final = ("open",) * 12 + ("slams", "closed", "full")
"""What becomes of who wants to connect: he may; he is reset, refused, or waits for ever."""


class Mood(Struct, frozen=True):
    """What a server is like for a while."""

    lasts_s: float
    door: str
    honest: float
    """Share of requests that are answered as they should be."""
    faults: tuple[Kind, ...]
    """What the others meet."""

    def kind_for(self, path: str, random: Random) -> Kind:
        """How a request for this path is answered."""
        honest = random.random() < self.honest
        if path == "/robots.txt":
            # Without rules nothing else is asked for, so that this is answered more often.
            return site_files.OpenRobots if honest or random.random() < 0.5 else random.choice(self._with(IN_FILES))
        if path.startswith("/sitemap"):
            return site_files.PlainSitemap if honest else random.choice(self._with(IN_FILES))
        if honest:
            return pages.Farm
        return random.choice(HEAVY) if random.random() < 0.01 else random.choice(self.faults)

    def _with(self, others: Sequence[Kind]) -> tuple[Kind, ...]:
        return *self.faults, *others


def draw_mood(random: Random) -> Mood:
    return Mood(
        lasts_s=random.uniform(3.0, 20.0),
        door=random.choice(DOORS),
        honest=random.choice((0.0, 0.2, 0.5, 0.8, 0.95)),
        faults=(*random.choices(ON_THE_WIRE, k=3), random.choice(IN_PAGES)),
    )
