"""What a page needs to be shown: images, style sheets, scripts, media; from attributes and from CSS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

REQUISITES: Final = ("img", "script", "source", "video", "audio", "track", "embed", "object", "input", "style")
"""Elements that name requisites, beside <link> whose rel says what it is."""

_SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "img": ("src",),
    "script": ("src",),
    "source": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
}
# Possessive throughout: whatever a style sheet holds, each of its characters is looked at once or twice.
_CSS_URL = re.compile(
    r"""url\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^"'()\s]++))\s*+\)|@import\s++(?:"([^"\n]*+)"|'([^'\n]*+)')""",
    re.IGNORECASE,
)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
# A candidate is a URL, which may hold commas but does not end in one, and perhaps a descriptor up to the next comma.
_CANDIDATE = re.compile(r"[\s,]*+([^\s]++)([^,]*+)")


def requisites_of(tag: str, attributes: Mapping[str, str | None]) -> Iterator[str]:
    """URLs, as they are written, that the element of this name loads."""
    if tag == "input":
        if (attributes.get("type") or "").lower() == "image" and attributes.get("src"):
            yield attributes["src"] or ""
        return
    for name in _SOURCES.get(tag, ()):
        value = attributes.get(name)
        if value:
            yield value
    if tag in ("img", "source"):
        yield from srcset(attributes.get("srcset") or "")


def srcset(value: str) -> Iterator[str]:
    """The URLs of a srcset: "a.png 1x, b.png 2x"."""
    position = 0
    while (candidate := _CANDIDATE.match(value, position)) is not None:
        url = candidate[1]
        if url.endswith(","):
            # A comma right behind the URL ends the candidate: what was taken for a descriptor is the next one.
            position = candidate.end(1)
            url = url.rstrip(",")
        else:
            position = candidate.end()
        if url:
            yield url


def css_urls(text: str) -> Iterator[str]:
    """What a style sheet loads: url(…) and @import, escapes left as they are; data: URLs left out."""
    for found in _CSS_URL.finditer(_CSS_COMMENT.sub(" ", text)):
        url = next((group for group in found.groups() if group), "")
        if url and url[:5].lower() != "data:":
            yield url
