"""Links as they are written, remembered by directory of their page: navigation is joined once, not on every page.

A relative link means the same on every page of a directory, unless it is empty or begins with its query. What is
remembered is where it led: the filter's entry, or why it leads nowhere.
"""

import re
from collections import OrderedDict
from typing import Final

from gregor.url.canonical import Url
from workers.extractor.filter.entries import Entry, Refused, Target

Directory = tuple[str, str, str]
"""Scheme, server, directory."""

MOST_IN_ONE: Final = 16
"""No directory may hold more than this part of the whole."""
LONGEST: Final = 512
LINK_BYTES: Final = 400
"""What a link may take in memory, on the average."""
OWN_BYTES: Final = 300
"""What it takes beside its text and that of its target, which the filter may have forgotten."""

# "https:x" and "https:?x" lean on the page's path in a way of their own; blanks and controls are trimmed by the parser.
_BY_DIRECTORY = re.compile(
    r"https?://|[/.]|[\w~%!$&()*+,;=@-]+(?:[/?.]|$)|(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII
)


class DirectoryLinks(dict[str, Target]):
    """The links of one directory."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class Hrefs:
    """Bounded in links, and in ``LINK_BYTES`` for each; whole directories leave, those first that were not used for longest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._directories: OrderedDict[Directory, DirectoryLinks] = OrderedDict()
        self._size = 0
        self._bytes = 0

    def of(self, page: Url, directory: str) -> DirectoryLinks:
        """What is remembered for pages of this directory; ``remember`` adds to it."""
        key = (page.scheme, page.server, directory)
        found = self._directories.get(key)
        if found is None:
            found = self._directories[key] = DirectoryLinks()
            self._add(found, 0, OWN_BYTES + len(directory))
        else:
            self._directories.move_to_end(key)
        return found

    def remember(self, known: DirectoryLinks, href: str, target: Target) -> None:
        """Beside others of the same directory, if it means the same on all of its pages."""
        if len(href) > LONGEST or _BY_DIRECTORY.match(href) is None:
            return
        if href not in known:
            if max(len(known), known.bytes // LINK_BYTES) * MOST_IN_ONE >= self._most:
                return
            self._add(known, 1, OWN_BYTES + len(href) + len(_text(target)))
        known[href] = target

    def trim(self) -> None:
        """Between pages."""
        while self._directories and (self._size > self._most or self._bytes > self._most * LINK_BYTES):
            _, gone = self._directories.popitem(last=False)
            self._size -= len(gone)
            self._bytes -= gone.bytes

    def clear(self) -> None:
        self._directories.clear()
        self._size = self._bytes = 0

    def _add(self, known: DirectoryLinks, links: int, size: int) -> None:
        self._size += links
        self._bytes += size
        known.bytes += size

    def __len__(self) -> int:
        return self._size


def _text(target: Target) -> str:
    match target:
        case Entry():
            return target.path
        case Refused():
            return target.url
    return ""
