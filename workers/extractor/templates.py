"""A page without its templates: what they hold is no part of it until a script copies it.

A browser ends a template at its </template>, whatever is open in it, and no other end tag closes anything around it. libxml2 has a rule
of its own (it passes over </template> while a <td> is open, and closes a template with the <div> around it), so templates are cut out
before it reads. For that it is enough to find tags as the tokeniser of HTML does, and to know which of them stand in a drawing or a
formula, where <template> is an element like any other and <title> and <style> hold tags.

Time is linear in the page: each byte is matched once, and what is open is counted by its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from workers.extractor.tags import BLANK

MAX_DEPTH: Final = 10_000
"""Of templates and elements of drawings in each other."""
_IN_PLACE: Final = b"<!---->"
"""Left of a template, so that the text before it and the text behind it do not become a tag."""

_TEMPLATE: Final = re.compile(rb"<[tT][eE][mM][pP][lL][aA][tT][eE][%b/>]" % BLANK)
# What is never closed goes on to the end of the page: a quoted value, a tag, a comment.
_VALUE: Final = rb""""[^"]*+"?+|'[^']*+'?+|[^%b>"'][^%b>]*+|(?=>)""" % (BLANK, BLANK)
_ATTRIBUTE: Final = rb"[^%b/>][^%b/>=]*+(?:[%b]*+=[%b]*+(?:%b))?+" % (BLANK, BLANK, BLANK, BLANK, _VALUE)
_TAG: Final = rb"(/?+)([a-z][^%b/>]*+)(?:[%b]++|/(?!>)|%b)*+(/?>)?+" % (BLANK, BLANK, _ATTRIBUTE)
_COMMENT: Final = rb"!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>)?+)"
_TOKEN: Final = re.compile(rb"<(?:%b|%b|(!\[CDATA\[)|[!/?][^>]*+>?+)" % (_TAG, _COMMENT), re.IGNORECASE)
_IN_SCRIPT: Final = re.compile(rb"<!--(?:-?>)?+|-->|<(/?+)script(?=[%b/>])" % BLANK, re.IGNORECASE)
_RAW_ENDS: Final = {
    name: re.compile(rb"</%b(?=[%b/>])" % (name, BLANK), re.IGNORECASE)
    for name in (b"title", b"textarea", b"style", b"xmp", b"iframe", b"noembed", b"noframes")
}

_FOREIGN: Final = frozenset((b"svg", b"math"))
_HTML_IN_SVG: Final = frozenset((b"foreignobject", b"desc", b"title"))
_HTML_IN_MATH: Final = frozenset((b"mi", b"mo", b"mn", b"ms", b"mtext"))
_LEAVING: Final = frozenset(
    b"b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s "
    b"small span strong strike sub sup table tt u ul var".split()
)
"""HTML that ends the drawings and formulas it stands in."""


class Kept(msgspec.Struct, frozen=True):
    """What is to be read of a page."""

    data: bytes
    complete: bool
    """False: it went too deep, and ends there."""


def without_templates(data: bytes) -> Kept:
    """Of a page in UTF-8."""
    if _TEMPLATE.search(data) is None:
        return Kept(data, True)
    scan = _Scan(data)
    pieces: list[bytes] = []
    at = 0
    for start, end in scan.templates():
        pieces.append(data[at:start])
        at = end
    pieces.append(data[at : scan.end])
    return Kept(_IN_PLACE.join(pieces), scan.end == len(data))


class _Open(NamedTuple):
    """An element of a drawing or formula."""

    name: bytes
    holding_html: frozenset[bytes]
    """What HTML may stand in, of all that is in the same drawing or formula."""


class _Drawing:
    """The open elements of drawings and formulas, outermost first."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._times: Counter[bytes] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def holds_html(self) -> bool:
        """Whether a tag is one of HTML here."""
        return not self._open or self._open[-1].name in self._open[-1].holding_html

    def begin(self, name: bytes) -> None:
        """A drawing or a formula."""
        self._push(_Open(name, _HTML_IN_MATH if name == b"math" else _HTML_IN_SVG))

    def open(self, name: bytes) -> None:
        self._push(_Open(name, self._open[-1].holding_html))

    def close(self, name: bytes) -> bool:
        """False: that end tag is not for one of these."""
        if not self._times[name] or (self.holds_html and name != self._open[-1].name and name not in _FOREIGN):
            return False
        while self._pop() != name:
            pass
        return True

    def leave(self) -> None:
        while not self.holds_html:
            self._pop()

    def _push(self, element: _Open) -> None:
        self._open.append(element)
        self._times[element.name] += 1

    def _pop(self) -> bytes:
        name = self._open.pop().name
        self._times[name] -= 1
        return name


class _Scan:
    """One walk over the tags of a page."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._drawing = _Drawing()
        self._outside: list[_Drawing] = []
        """Those around each open template."""
        self._depth_outside = 0
        self.end = len(data)
        """How far the walk came."""

    def templates(self) -> Iterator[tuple[int, int]]:
        """Where the outermost begin and end."""
        at, start = 0, None
        while (token := _TOKEN.search(self._data, at)) is not None:
            at = self._past(token)
            if self._depth_outside + len(self._drawing) > MAX_DEPTH:
                self.end = token.start() if start is None else start
                return
            if start is None and self._outside:
                start = token.start()
            elif start is not None and not self._outside:
                yield start, at
                start = None
        if start is not None:
            yield start, len(self._data)

    def _past(self, token: re.Match[bytes]) -> int:
        """Where the next token is looked for, after this one."""
        slash, name, closed, cdata = token.groups()
        if cdata:
            return self._behind(b"]]>" if self._drawing else b">", token.end())
        if name is None or closed is None:
            return token.end()
        if slash:
            self._end_tag(name.lower())
            return token.end()
        return self._start_tag(name.lower(), closed == b"/>", token.end())

    def _start_tag(self, name: bytes, alone: bool, at: int) -> int:
        if not self._drawing.holds_html:
            if name in _LEAVING:
                self._drawing.leave()
            elif not alone:
                self._drawing.open(name)
            return at
        if name == b"template":
            self._depth_outside += len(self._drawing) + 1
            self._outside.append(self._drawing)
            self._drawing = _Drawing()
        elif name in _FOREIGN:
            if not alone:
                self._drawing.begin(name)
        elif name == b"script":
            return self._behind_script(at)
        elif name in _RAW_ENDS:
            return self._behind_tag(_RAW_ENDS[name].search(self._data, at))
        elif name == b"plaintext":
            return len(self._data)
        return at

    def _end_tag(self, name: bytes) -> None:
        if self._drawing.close(name):
            return
        if name == b"template" and self._outside:
            self._drawing = self._outside.pop()
            self._depth_outside -= len(self._drawing) + 1
        elif name in _LEAVING:
            self._drawing.leave()

    def _behind(self, end: bytes, at: int) -> int:
        found = self._data.find(end, at)
        return found + len(end) if found >= 0 else len(self._data)

    def _behind_tag(self, found: re.Match[bytes] | None) -> int:
        tag = _TOKEN.match(self._data, found.start()) if found is not None else None
        return tag.end() if tag is not None else len(self._data)

    def _behind_script(self, at: int) -> int:
        """In a script, "<!--" hides the end tag of a script that begins behind it."""
        hiding = hidden = False
        for found in _IN_SCRIPT.finditer(self._data, at):
            if found[0].endswith(b">"):
                hiding = hidden = False
            elif found[1] is None:
                hiding = True
            elif not found[1]:
                hidden = hiding
            elif hidden:
                hidden = False
            else:
                return self._behind_tag(found)
        return len(self._data)
