"""Counts by name, bounded in the number of names."""

from collections.abc import Mapping
from typing import Final

OTHERS: Final = "(others)"
"""Stands for every name beyond the bound; the sum of all counts stays exact."""


def add_count(counts: dict[str, int], name: str, count: int, most: int) -> None:
    """In place; a new name when there are ``most`` already is counted among the others."""
    if name not in counts and len(counts) >= most:
        name = OTHERS
    counts[name] = counts.get(name, 0) + count


def added(one: Mapping[str, int], other: Mapping[str, int], most: int) -> dict[str, int]:
    """The sum of two; no name is lost as long as both together have no more than ``most``."""
    counts = dict(one)
    for name, count in other.items():
        add_count(counts, name, count, most)
    return counts


def by_size(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Largest first, the others last, equal ones by name."""
    return sorted(counts.items(), key=lambda entry: (entry[0] == OTHERS, -entry[1], entry[0]))
