"""Which pages lexbor may build a tree of: those that cannot cost it much time or memory, whatever they hold.

Some of its steps walk all open elements or all attributes of a tag: 100,000 nested <div> take it 45 s, 100,000 attributes 57 s. So the
numbers of tags and of possible attributes are bounded, and its time to about a second. And HTML has it open every formatting element
that was never closed again in each paragraph that follows, with a copy of all its attributes: 4,000 different <b x1>, <b x2>, ... before
2,900 paragraphs, 60 KB, become 11 million elements and 4 GB, and so does one <b> with 9,900 attributes before as many paragraphs. At most
three of the same name and attributes are opened again, and of <a> one, so that the different formatting tags of a page, three times, in
front of every other tag bound the tree in elements, attributes and bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from workers.extractor.tag_starts import beginnings, tag_starts
from workers.extractor.tags import ATTRIBUTE, ATTRIBUTES, BLANK

LEXBOR_MAX_TAGS: Final = 10_000
LEXBOR_MAX_SEPARATORS: Final = 20_000
LEXBOR_MAX_REOPENED: Final = 500_000
"""Elements of some 330 bytes."""
LEXBOR_MAX_REOPENED_ATTRIBUTES: Final = 1_000_000
"""Of some 160 bytes."""
LEXBOR_MAX_REOPENED_BYTES: Final = 64 * 1024 * 1024
"""Of the tags as they are written: names and values are copied too."""

# An attribute's name is preceded by one of these, all of which have codes below that of "0".
_NOT_SEPARATORS: Final = bytes(set(range(256)) - set(b" \t\n\f\r/\"'"))
_ZERO: Final = ord("0")
# Behind a ">" follows text, or, if it stands in a quoted value, the rest of that value: no attribute before the next quote.
_NO_ATTRIBUTES: Final = re.compile(rb">[^<\"']*+")

_FORMATTING: Final = ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
_TAG: Final = re.compile(
    rb"<(%b)(?=[%b/>])(?:(%b)>)?+" % ("|".join(_FORMATTING).encode(), BLANK, ATTRIBUTES), re.IGNORECASE
)
_OVERLAPPING: Final = 4
"""Tags do not overlap. What looks like one inside of another is not one, but has been read to its end as well: a page over which that
happens more often than this is not worth the time."""


class Reopened(msgspec.Struct, frozen=True):
    """What can come into the tree beyond that which stands in the page, at most."""

    elements: int
    attributes: int
    size: int
    """Bytes of tags."""

    @property
    def bounded(self) -> bool:
        return (
            self.elements <= LEXBOR_MAX_REOPENED
            and self.attributes <= LEXBOR_MAX_REOPENED_ATTRIBUTES
            and self.size <= LEXBOR_MAX_REOPENED_BYTES
        )


def fits_lexbor(data: bytes) -> bool:
    """Whether lexbor's time and memory are bounded by what the page (in UTF-8) can hold at most."""
    tags = data.count(b"<")
    if tags > LEXBOR_MAX_TAGS:
        return False
    if not (few_separators(data) or few_separators(_NO_ATTRIBUTES.sub(b">", data))):
        return False
    # Half of the tags to be opened again in front of the other half, all bytes of the page in them, is the most there can be.
    if Reopened(tags * tags // 4, len(data) * tags, len(data) * tags).bounded:
        return True
    more = reopened(data, tags)
    return more is not None and more.bounded


def few_separators(data: bytes) -> bool:
    if len(data) <= LEXBOR_MAX_SEPARATORS:
        return True
    # An upper bound in a few microseconds decides for most pages.
    if np.count_nonzero(np.frombuffer(data, np.uint8) < _ZERO) <= LEXBOR_MAX_SEPARATORS:
        return True
    return len(data.translate(None, _NOT_SEPARATORS)) <= LEXBOR_MAX_SEPARATORS


def reopened(data: bytes, tags: int) -> Reopened | None:
    """Of a page with so many "<"; None: it would take too long to say."""
    left = _OVERLAPPING * len(data)
    seen: Counter[bytes] = Counter()
    anchors: set[bytes] = set()
    for at in tag_starts(data, _BEGINNINGS):
        tag = _TAG.match(data, at)
        if tag is None:
            continue
        name, attributes = tag.groups()
        # One without an end is no tag, but was looked for to the end of the page.
        left -= len(data) - at if attributes is None else len(attributes)
        if left < 0:
            return None
        if attributes is not None:
            if name == b"a" or name == b"A":
                anchors.add(attributes)
            else:
                seen[tag[0]] += 1
    opened = [(min(3, times), len(ATTRIBUTE.findall(tag)), len(tag)) for tag, times in seen.items()]
    most = max((len(ATTRIBUTE.findall(anchor)) for anchor in anchors), default=0)
    return Reopened(
        tags * (sum(times for times, _, _ in opened) + 1),
        tags * (sum(times * attributes for times, attributes, _ in opened) + most),
        tags * (sum(times * size for times, _, size in opened) + max(map(len, anchors), default=0)),
    )


def _pairs() -> Iterator[bytes]:
    """What follows the "<" of a formatting element's tag, as far as two bytes."""
    for name in _FORMATTING:
        following = name[1:2] or " \t\n\f\r/>"
        for first in name[:1] + name[:1].upper():
            yield from (f"{first}{second}".encode() for second in following + following.upper())


_BEGINNINGS: Final = beginnings(_pairs())
