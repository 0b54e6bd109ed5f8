"""The cookies of one response, as a request to the same URL would send them back.

Nothing is kept of them here: a redirect to itself is asked once more with what it set, and that is all that cookies are for.
"""

import re
from collections.abc import Iterable
from typing import Final

from workers.fetcher.port import Headers, Scheme

MOST_COOKIES: Final = 50
LONGEST_COOKIES: Final = 4096
"""Characters of all pairs together; what does not fit is left out."""

_PAIR: Final = re.compile(r"\s*([!-:<>-~]+)\s*=\s*([ -:<-~]*)")
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=\s*(?:0+|-\d+)\s*(?:;|$)", re.IGNORECASE)
_SECURE: Final = re.compile(r";\s*secure\s*(?:;|$)", re.IGNORECASE)


def cookies_of(headers: Headers, scheme: Scheme) -> str:
    """The pairs of all Set-Cookie headers, "a=1; b=2"; of one name the last, without those that are deleted or not for this scheme."""
    pairs: dict[str, str] = {}
    for name, value in headers:
        if name.lower() != "set-cookie":
            continue
        pair, _, _ = value.partition(";")
        found = _PAIR.fullmatch(pair)
        if found is None or (scheme == "http" and _SECURE.search(value)):
            continue
        pairs.pop(found[1], None)
        if not _MAX_AGE.search(value):
            pairs[found[1]] = found[2].strip()
    return _joined(f"{name}={value}" for name, value in list(pairs.items())[:MOST_COOKIES])


def _joined(pairs: Iterable[str]) -> str:
    text = ""
    for pair in pairs:
        longer = f"{text}; {pair}" if text else pair
        if len(longer) <= LONGEST_COOKIES:
            text = longer
    return text
