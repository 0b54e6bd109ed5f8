"""What a tree parser must see of a page to find its links, for pages plain enough to tell without a tree: a fifth of their bytes.

Lexbor's time goes with tags and text, most of which hold no link. A page is plain when one regular expression describes it from its first
byte to its last: "<" and ">" stand nowhere but around tags, comments and raw text are without them, every element is one that browsers
put where it stands, and every <a> ends with its own </a>, around text and phrases that are closed in it. Then no rule of
HTML hides an element of the page, and none doubles one: <a> is the only element with links that browsers open again
after it was closed by another one's end. So the start tags that may hold links, cut out and put one behind another, give the
same elements with the same attributes as the page. What comments and scripts hold beyond that is left out first, if need be.

RE2's time is linear, and there are few enough states for all of them to stay in its memory.
"""

from __future__ import annotations

import re
from typing import Final

import re2  # type: ignore[import-untyped]

from workers.extractor.tag_starts import beginnings, tag_starts

_MEMORY: Final = 64 * 1024 * 1024
_TAGS_PER_ANCHOR: Final = 6
_SAMPLE: Final = 4096

_VALUE: Final = r"""(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+)"""
_ATTRIBUTES: Final = rf"""(?:\s+[^\s"'<>/=]+(?:\s*=\s*{_VALUE})?)*\s*"""

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
        return rf"</(?:{'|'.join(names)})\s*>|<(?:{'|'.join(names)}){_ATTRIBUTES}/?>"

    def closed(name: str, content: str) -> str:
        return rf"<{name}{_ATTRIBUTES}/?>(?:{content})*</{name}\s*>"

    text = "[^<]"
    void = rf"<(?:img|br|wbr){_ATTRIBUTES}/?>"
    drawing = rf"<svg{_ATTRIBUTES}>(?:{text}|{tags(_DRAWN)})*</svg\s*>"
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
    rb"<(?:!--(?!-?>)[^-]*+(?:-(?!-!?>)[^-]*+)*+(--!?>)?"
    rb"|script((?:\s[^<>]*+)?>)[^<]*+(?:<(?!!--|/(?i:script))[^<]*+)*+(</script\s*+>)?)"
)
_BETWEEN: Final = b"</a></iframe>"
_TITLE: Final = re.compile(rb"<title[\s/>][^<]*+")
_WITH_LINKS: Final = re.compile(rb"<(?:a|area|base|iframe|link|meta)\s[^>]*+>")
# By their first letter and their third, which keeps <li> and most others away, of which pages are full.
_BEGINNINGS: Final = beginnings([*(b"a%c" % third for third in range(256)), b"bs", b"ir", b"ln", b"mt"])


def has_mostly_links(data: bytes) -> bool:
    """Whether to cut a page down may cost more than it saves: <a> and its end are a good part of the tags, as far as its middle tells."""
    start = max(0, (len(data) - _SAMPLE) // 2)
    sample = data[start : start + _SAMPLE]
    return sample.count(b"<a ") * _TAGS_PER_ANCHOR > sample.count(b"<")


def reduced(data: bytes) -> bytes | None:
    """The title and the tags that may hold links of a page in UTF-8; None: it is not plain."""
    if _PLAIN.fullmatch(data) is None:
        data = _COMMENT_OR_SCRIPT.sub(_emptied, data)
        if _PLAIN.fullmatch(data) is None:
            return None
    title = _TITLE.search(data)
    parts = [title[0] + b"</title>"] if title else []
    match = _WITH_LINKS.match
    parts += [found[0] for at in tag_starts(data, _BEGINNINGS, 3) if (found := match(data, at))]
    return _BETWEEN.join(parts)


def _emptied(found: re.Match[bytes]) -> bytes:
    """A comment or script without its content. If its end is missing or not certain: "<", which alone stands in no plain page."""
    comment_end, script, script_end = found.groups()
    if comment_end:
        return b"<!---->"
    return b"<script%b</script>" % script if script_end else b"<"
