"""Links and directives in a response's headers: Location, Link (RFC 8288), X-Robots-Tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gregor.url.headers import from_header
from workers.extractor.page_links import RawLink, kind_of, rel_bits

Headers = Sequence[tuple[str, str]]

MOST_HEADER_LINKS: Final = 100

# <target> and its parameters up to the next comma that stands outside of quotes.
_LINK = re.compile(r'[\s,]*+<([^>]*+)>((?:[^,"<]|"(?:[^"\\]|\\.)*+")*+)')
_REL = re.compile(r';\s*+rel\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]++))', re.IGNORECASE)


def header(headers: Headers, name: str) -> str:
    """The first header of this name (given in lower case); empty: none."""
    return next((value for key, value in headers if key.lower() == name), "")


def all_headers(headers: Headers, name: str) -> list[str]:
    return [value for key, value in headers if key.lower() == name]


def header_links(headers: Headers) -> list[RawLink]:
    """The links of Link headers whose relation a <link> element of the same would make a link."""
    return [link for value in all_headers(headers, "link") for link in _links(value)][:MOST_HEADER_LINKS]


def _links(value: str) -> Iterator[RawLink]:
    position = 0
    while (found := _LINK.match(value, position)) is not None:
        position = found.end()
        relation = _REL.search(found[2])
        if relation is not None:
            words = (relation[1] or relation[2] or "").lower().split()
            kind = kind_of(words)
            if kind is not None:
                yield RawLink(from_header(found[1]), kind, rel_bits(" ".join(words)))
