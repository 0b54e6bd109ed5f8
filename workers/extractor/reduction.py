"""The links of pages that are plain enough to tell them without a tree, and the few tags of theirs that a tree parser must see.

Lexbor's time goes with tags and text, most of which hold no link. A page is plain when one regular expression describes it from its first
byte to its last: "<" and ">" stand nowhere but around tags, comments and raw text are without them, every element is one that browsers
put where it stands, and every <a> ends with its own </a>, around text and phrases that are closed in it. Then no rule of
HTML hides an element of the page, and none doubles one: <a> is the only element with links that browsers open again
after it was closed by another one's end. So the start tags that may hold links, cut out and put one behind another, give the
same elements with the same attributes as the page. What comments and scripts hold beyond that is left out first, if need be.

And of an <a> that has no rel, and whose href stands in double quotes without blanks or character references (but "&amp;"), the
href is known as it stands: no parser sees it. Its fragment is cut off where it stands, so that the entries of an index are the same link.

RE2's time is linear, and there are few enough states for all of them to stay in its memory.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
import re2  # type: ignore[import-untyped]

_MEMORY: Final = 64 * 1024 * 1024
_TAGS_PER_PIECE: Final = 2000

_BLANKS: Final = r" \t\n\f\r"
"""Of HTML, for use within brackets: RE2 means the same by "\\s", Python also "\\v"."""
_VALUE: Final = rf"""(?:"[^"<>]*"|'[^'<>]*'|[^{_BLANKS}"'<>=`]+)"""
_ATTRIBUTES: Final = rf"""(?:[{_BLANKS}]+[^{_BLANKS}"'<>/=]+(?:[{_BLANKS}]*=[{_BLANKS}]*{_VALUE})?)*[{_BLANKS}]*"""

# fmt: off
_ORDINARY: Final = (
    "html", "head", "body", "meta", "link", "base", "noscript", "header", "footer", "main", "nav", "section", "article", "aside", "address",
    "h[1-6]", "hgroup", "p", "div", "center", "pre", "blockquote", "hr", "br", "wbr", "ul", "ol", "li", "dl", "dt", "dd", "menu", "dir",
    "figure", "figcaption", "table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "colgroup", "col", "form", "fieldset",
    "legend", "label", "input", "button", "output", "progress", "meter", "details", "summary", "dialog", "img", "picture", "source",
    "video", "audio", "track", "canvas", "map", "area", "object", "param", "embed", "span", "em", "strong", "b", "i", "u", "s", "tt",
    "small", "big", "code", "kbd", "samp", "var", "cite", "q", "dfn", "abbr", "acronym", "time", "data", "mark", "sub", "sup", "ins", "del",
    "bdi", "bdo", "font", "strike", "ruby", "rb", "rp", "rt", "rtc", "[a-z][a-z0-9]*-[a-z0-9\\-]*",
)
_RAW: Final = ("title", "textarea", "style", "script", "iframe")
_DRAWN: Final = (
    "path", "g", "circle", "rect", "line", "polyline", "polygon", "ellipse", "text", "tspan", "use", "defs", "symbol", "mask", "clipPath",
    "linearGradient", "radialGradient", "stop",
)
_IN_ANCHORS: Final = (
    "span", "em", "strong", "b", "i", "u", "s", "tt", "small", "big", "code", "kbd", "samp", "var", "cite", "q", "dfn", "abbr", "acronym",
    "time", "mark", "sub", "sup", "font",
)
_IN_PHRASES: Final = ("span", "em", "strong", "b", "i", "tt", "code")
# fmt: on


def _language() -> str:
    """The expression for plain pages."""

    def tags(names: tuple[str, ...]) -> str:
        return rf"</(?:{'|'.join(names)})[{_BLANKS}]*>|<(?:{'|'.join(names)}){_ATTRIBUTES}/?>"

    def closed(name: str, content: str) -> str:
        return rf"<{name}{_ATTRIBUTES}/?>(?:{content})*</{name}[{_BLANKS}]*>"

    text = "[^<]"
    void = rf"<(?:img|br|wbr){_ATTRIBUTES}/?>"
    drawing = rf"<svg{_ATTRIBUTES}>(?:{text}|{tags(_DRAWN)})*</svg[{_BLANKS}]*>"
    phrases = "|".join(closed(name, f"{text}|{void}") for name in _IN_PHRASES)
    in_anchors = "|".join(closed(name, f"{text}|{void}|{phrases}") for name in _IN_ANCHORS)
    parts = (
        text,
        tags(_ORDINARY),
        closed("a", f"{text}|{void}|{drawing}|{in_anchors}"),
        *(closed(name, text) for name in _RAW),
        drawing,
        closed("select", f"{text}|{tags(('option', 'optgroup'))}"),
        "<!--[^<>]*--!?>",
        "<!(?i:doctype)[^<>]*>",
        r"<\?[^<>]*>",
    )
    return f"(?:{'|'.join(parts)})*"


def _compiled() -> re2._Regexp:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    return re2.compile(_language().encode(), options)


_PLAIN: Final = _compiled()
_COMMENT_OR_SCRIPT: Final = re.compile(
    rf"<(?:!--(?!-?>)[^-]*+(?:-(?!-!?>)[^-]*+)*+(--!?>)?"
    rf"|script((?:[{_BLANKS}][^<>]*+)?>)[^<]*+(?:<(?!!--|/(?i:script))[^<]*+)*+(</script[{_BLANKS}]*+>)?)".encode()
)
_BETWEEN: Final = b"</a></iframe>"
_TITLE: Final = re.compile(rf"<title[{_BLANKS}/>][^<]*+".encode())
# Links as most are written come first, so that little is tried in vain.
_HREF: Final = (
    rf"""a(?:[{_BLANKS}]++class="[^"]*+")?+(?:[{_BLANKS}]++(?!(?i:href|rel)[{_BLANKS}=])[^{_BLANKS}"'<>/=]++=(?:"[^"]*+"|'[^']*+'))*+"""
    rf"""[{_BLANKS}]++href="([^"#&\x00-\x20]*+(?:&amp;[^"#&\x00-\x20]*+)*+)(?:#[^"]*+)?+\""""
    rf"""(?:>|(?:[{_BLANKS}]++(?!(?i:rel)[{_BLANKS}=/>])[^{_BLANKS}"'<>/=]++(?:=(?:"[^"]*+"|'[^']*+'))?+)*+>)"""
)
_WITH_LINKS: Final = re.compile(
    rf"<(?=[abilm])(?:{_HREF}|((?:a|area|base|iframe|link|meta)[{_BLANKS}][^>]*+>))".encode()
)


class Plain(msgspec.Struct, frozen=True):
    """All that a plain page in UTF-8 says of links."""

    hrefs: list[bytes]
    """Of anchors without rel, cut at their fragment; "&" is still written as "&amp;"."""
    tags: list[bytes]
    """The title, and the other tags that may hold links."""

    def pieces(self) -> list[bytes]:
        """The tags as pages that are small enough for any parser, however large theirs was."""
        starts = range(0, len(self.tags), _TAGS_PER_PIECE)
        return [_BETWEEN.join(self.tags[start : start + _TAGS_PER_PIECE]) for start in starts]


def reduced(data: bytes) -> Plain | None:
    """What there is to know of a page in UTF-8; None: it is not plain."""
    if _PLAIN.fullmatch(data) is None:
        data = _COMMENT_OR_SCRIPT.sub(_emptied, data)
        if _PLAIN.fullmatch(data) is None:
            return None
    title = _TITLE.search(data)
    tags = [title[0] + b"</title>"] if title else []
    found = _WITH_LINKS.findall(data)
    tags += [b"<" + tag for _, tag in found if tag]
    return Plain([href for href, tag in found if not tag], tags)


def _emptied(found: re.Match[bytes]) -> bytes:
    """A comment or script without its content. If its end is missing or not certain: "<", which alone stands in no plain page."""
    comment_end, script, script_end = found.groups()
    if comment_end:
        return b"<!---->"
    return b"<script%b</script>" % script if script_end else b"<"
