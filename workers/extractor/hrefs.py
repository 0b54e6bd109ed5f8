"""Links as they are written, remembered by directory of their page: navigation is joined once, not on every page.

A relative link means the same on every page of a directory, unless it is empty or begins with its query. What is
remembered is where it led: the filter's entry, or why it leads nowhere.
"""

import re
from collections import OrderedDict
from typing import Final

from gregor.url.canonical import Url
from workers.extractor.filter.entries import Target

Directory = tuple[str, str, str]
"""Scheme, server, directory."""

MOST_IN_ONE: Final = 16
"""No directory may hold more than this part of the whole."""
LONGEST: Final = 512

# "https:x" and "https:?x" lean on the page's path in a way of their own; blanks and controls are trimmed by the parser.
_BY_DIRECTORY = re.compile(
    r"https?://|[/.]|[\w~%!$&()*+,;=@-]+(?:[/?.]|$)|(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII
)


class Hrefs:
    """Bounded in links; whole directories leave, those first that were not used for longest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._directories: OrderedDict[Directory, dict[str, Target]] = OrderedDict()
        self._size = 0

    def of(self, page: Url, directory: str) -> dict[str, Target]:
        """What is remembered for pages of this directory; ``remember`` adds to it."""
        key = (page.scheme, page.server, directory)
        found = self._directories.get(key)
        if found is None:
            found = self._directories[key] = {}
        else:
            self._directories.move_to_end(key)
        return found

    def remember(self, known: dict[str, Target], href: str, target: Target) -> None:
        """Beside others of the same directory, if it means the same on all of its pages."""
        if len(href) > LONGEST or _BY_DIRECTORY.match(href) is None:
            return
        if href not in known:
            if len(known) * MOST_IN_ONE >= self._most:
                return
            self._size += 1
        known[href] = target

    def trim(self) -> None:
        """Between pages."""
        while self._size > self._most or len(self._directories) > self._most:
            _, gone = self._directories.popitem(last=False)
            self._size -= len(gone)

    def clear(self) -> None:
        self._directories.clear()
        self._size = 0

    def __len__(self) -> int:
        return self._size
