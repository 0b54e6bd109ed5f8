"""Parts of the museum without an end, which a crawler has to end by itself."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache
from itertools import product
from typing import Final

from gregor.demo.answer import Answer
from gregor.demo.page import PageLink, Sheet, dressed

MIRRORS: Final = "/mirrors/"
CALENDAR: Final = "/calendar"
FIRST_MONTH: Final = f"{CALENDAR}?month=2031-01"
REPEATED: Final = 4
"""How often one segment may stand in a path: the default of traps.repeated_segments."""
MONTHS: Final = 100
"""URLs of one path that differ in their query: traps.query_variants as the demo sets it."""
_MONTH: Final = re.compile(re.escape(CALENDAR) + r"\?month=(\d{4})-(\d\d)")


def mirrors(house: str, path: str) -> Answer | None:
    """A hall of mirrors: every page has a left and a right one below it, and all have the same bytes."""
    if not path.startswith(MIRRORS) or not path.endswith("/"):
        return None
    sheet = Sheet(
        house=house,
        title="Hall of mirrors",
        paragraphs=("It met itself coming the other way, and neither gave way.",),
        links=(PageLink("left/", "Left"), PageLink("right/", "Right"), PageLink("/", "Entrance")),
    )
    return Answer(200, dressed(sheet))


@lru_cache(maxsize=1)
def mirrors_asked() -> Set[str]:
    """All that have each segment no more often than allowed: 251 pages."""
    return {
        MIRRORS + "".join(f"{turn}/" for turn in turns)
        for length in range(2 * REPEATED + 1)
        for turns in product(("left", "right"), repeat=length)
        if turns.count("left") <= REPEATED and turns.count("right") <= REPEATED
    }


def calendar(house: str, path: str) -> Answer | None:
    """A calendar that goes on for ever: each month knows the next twelve."""
    found = _MONTH.fullmatch(path)
    if found is None:
        return None
    month = int(found[1]) * 12 + int(found[2]) - 1
    ahead = tuple(PageLink(_month(month + n), f"In {n} months" if n > 1 else "Next month") for n in range(1, 13))
    sheet = Sheet(
        house=house,
        title=f"Opening hours, {found[1]}-{found[2]}",
        paragraphs=("The museum is closed. The office in charge of opening it is closed, too.",),
        links=(*ahead, PageLink("/", "Entrance")),
    )
    return Answer(200, dressed(sheet))


def _month(month: int) -> str:
    return f"{CALENDAR}?month={month // 12:04}-{month % 12 + 1:02}"
