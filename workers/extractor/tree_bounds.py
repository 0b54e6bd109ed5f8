"""Which pages lexbor may build a tree of: those that cannot cost it much time or memory, whatever they hold.

Some of its steps walk all open elements or all attributes of a tag: 100,000 nested <div> take it 45 s, 100,000 attributes 57 s. So the
numbers of tags and of possible attributes are bounded, and its time to about a second. And HTML has it open every formatting element
that was never closed again in each paragraph that follows: 4,000 different <b x1>, <b x2>, ... before 2,900 paragraphs, 60 KB, become
11 million elements and 4 GB. At most three of the same name and attributes are opened again, and of <a> one, so that the different
formatting tags of a page, three times, in front of every other tag bound the tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from workers.extractor.tag_starts import beginnings, tag_starts

LEXBOR_MAX_TAGS: Final = 10_000
LEXBOR_MAX_SEPARATORS: Final = 20_000
LEXBOR_MAX_REOPENED: Final = 500_000
"""Elements of some 330 bytes."""

# An attribute's name is preceded by one of these, all of which have codes below that of "0".
_NOT_SEPARATORS: Final = bytes(set(range(256)) - set(b" \t\n\f\r/\"'"))
_ZERO: Final = ord("0")
# Behind a ">" follows text, or, if it stands in a quoted value, the rest of that value: no attribute before the next quote.
_NO_ATTRIBUTES: Final = re.compile(rb">[^<\"']*+")

_FORMATTING: Final = ("b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
_OPENED: Final = re.compile(rb"<(?:%b)(?=[\s/>])[^>]*+" % "|".join(_FORMATTING).encode(), re.IGNORECASE)
# Where the first ">" is the end of the tag for certain: it stands in no quoted value.
_WHOLE_TAG: Final = re.compile(
    rb"""<\w++(?:\s++[a-zA-Z_:][-\w:.]*+(?:=(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>=`]++))?+)*+\s*+/?+"""
)


def fits_lexbor(data: bytes) -> bool:
    """Whether lexbor's time and memory are bounded by what the page (in UTF-8) can hold at most."""
    tags = data.count(b"<")
    if tags > LEXBOR_MAX_TAGS:
        return False
    if not (few_separators(data) or few_separators(_NO_ATTRIBUTES.sub(b">", data))):
        return False
    # Half of the tags to be opened again in front of the other half is the most there can be.
    return tags * tags // 4 <= LEXBOR_MAX_REOPENED or reopened(data, tags) <= LEXBOR_MAX_REOPENED


def few_separators(data: bytes) -> bool:
    if len(data) <= LEXBOR_MAX_SEPARATORS:
        return True
    # An upper bound in a few microseconds decides for most pages.
    if np.count_nonzero(np.frombuffer(data, np.uint8) < _ZERO) <= LEXBOR_MAX_SEPARATORS:
        return True
    return len(data.translate(None, _NOT_SEPARATORS)) <= LEXBOR_MAX_SEPARATORS


def reopened(data: bytes, tags: int) -> int:
    """How many elements can come into the tree beyond those that stand in the page, at most."""
    seen = Counter(opened[0] for at in tag_starts(data, _BEGINNINGS) if (opened := _OPENED.match(data, at)))
    # One whose end is not certain may differ from all others.
    different = sum(1 if _WHOLE_TAG.fullmatch(tag) else count for tag, count in seen.items())
    return (min(3 * different, seen.total()) + 1) * tags


def _pairs() -> Iterator[bytes]:
    """What follows the "<" of a formatting element's tag, as far as two bytes."""
    for name in _FORMATTING:
        following = name[1:2] or " \t\n\f\r\v/>"
        for first in name[:1] + name[:1].upper():
            yield from (f"{first}{second}".encode() for second in following + following.upper())


_BEGINNINGS: Final = beginnings(_pairs())
