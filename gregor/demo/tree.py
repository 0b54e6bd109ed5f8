"""The drawers of a house: pages that form a tree of four children each, so that a house of any size is reached from its first page."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from gregor.demo.prose import SECTIONS, name

CHILDREN: Final = 4
A_BEETLE: Final = len(SECTIONS)


def section_of(number: int) -> str:
    return SECTIONS[number % len(SECTIONS)]


def path_of(number: int) -> str:
    if number == 0:
        return "/"
    if number % 7 == 3:
        return f"/drawers?number={number}"
    section = section_of(number)
    return f"/{section}/{name(section, number).replace(' ', '-')}-{number}.html"


def parent_of(number: int) -> int:
    return (number - 1) // CHILDREN


def children_of(number: int, count: int) -> range:
    first = CHILDREN * number + 1
    return range(min(first, count), min(first + CHILDREN, count))


def relative(here: str, target: str) -> str:
    return ("../" if here.count("/") > 1 else "./" if target == "/" else "") + target[1:]


@lru_cache(maxsize=32)
def numbers(pages: int) -> dict[str, int]:
    """Path to the number of its page."""
    return {path_of(number): number for number in range(pages)}
