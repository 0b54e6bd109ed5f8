"""Where tags may begin whose names begin with certain letters: a few microseconds for a page, however many tags it has."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Beginnings = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""True for each pair of bytes, as one number, that may follow a "<"."""


def beginnings(pairs: Iterable[bytes]) -> Beginnings:
    """For the pairs of bytes given."""
    found = np.zeros(65_536, np.bool_)
    for first, second in pairs:
        found[first << 8 | second] = True
    return found


def tag_starts(data: bytes, wanted: Beginnings, second: int = 2) -> list[int]:
    """Where a "<" is followed by one of the pairs: the first byte behind it, and the second or the third."""
    page = np.frombuffer(data + b"   ", np.uint8)
    at = np.flatnonzero(page[:-3] == ord("<"))
    letters = page[at + 1].astype(np.uint16) << 8 | page[at + second]
    found: list[int] = at[wanted[letters]].tolist()
    return found
