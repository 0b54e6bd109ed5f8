"""The cookies of one response, as a request to the same URL would send them back.

Nothing is kept of them here: a redirect to itself is asked once more with what it set, and that is all that cookies are for.
"""

import re
from collections.abc import Iterable
from typing import Final

from workers.fetcher.backends.backend import Headers, Scheme

MOST_COOKIES: Final = 50
LONGEST_COOKIES: Final = 4096
"""Characters of all pairs together; what does not fit is left out."""

_NAME: Final = re.compile(r"[!-:<>-~]+")
_VALUE: Final = re.compile(r"[ -:<-~]*")
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=\s*(?:0+|-\d+)\s*(?:;|$)", re.IGNORECASE)
_SECURE: Final = re.compile(r";\s*secure\s*(?:;|$)", re.IGNORECASE)


def cookies_of(headers: Headers, scheme: Scheme) -> str:
    """The pairs of all Set-Cookie headers, "a=1; b=2"; of one name the last, without those that are deleted or not for this scheme."""
    pairs: dict[str, str] = {}
    for name, value in headers:
        if name.lower() != "set-cookie":
            continue
        # Cut and trimmed before it is looked at: one pattern for all of it would try every way to share out the spaces.
        key, equals, given = (part.strip() for part in value.partition(";")[0].partition("="))
        if not equals or not _NAME.fullmatch(key) or not _VALUE.fullmatch(given):
            continue
        if scheme == "http" and _SECURE.search(value):
            continue
        pairs.pop(key, None)
        if not _MAX_AGE.search(value):
            pairs[key] = given
    return _joined(f"{name}={value}" for name, value in list(pairs.items())[:MOST_COOKIES])


def _joined(pairs: Iterable[str]) -> str:
    text = ""
    for pair in pairs:
        longer = f"{text}; {pair}" if text else pair
        if len(longer) <= LONGEST_COOKIES:
            text = longer
    return text
