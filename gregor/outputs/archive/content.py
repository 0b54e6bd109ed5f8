"""What a page says of itself: media type, charset, language, title; and its text."""

import re
from html import unescape

from msgspec import Struct

from gregor.outputs.archive.page import ArchivedPage
from workers.extractor.charset import decode
from workers.extractor.page_facts import read_text

_TITLE = re.compile(r"<title(?:\s[^>]*+)?>(.{0,4000}?)</title", re.IGNORECASE | re.DOTALL)
_NOT_HEAD = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style|svg)[\s>].*?(?:</\1|\Z)", re.IGNORECASE | re.DOTALL)
_LANG = re.compile(
    r"<html(?=\s)[^>]{0,500}?\s(?:xml:)?lang\s*=\s*[\"']?([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*+)", re.IGNORECASE
)
_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_HEAD_CHARACTERS = 64 * 1024
LONGEST_TITLE = 1000
MOST_TEXT_BYTES = 4 * 1024 * 1024


class Content(Struct, frozen=True):
    """Empty text: not known, or not declared."""

    type: str
    """Media type in lower case, without parameters."""
    charset: str = ""
    """Of text: the name of its encoding in the WHATWG standard."""
    language: str = ""
    title: str = ""


def content_of(page: ArchivedPage) -> Content:
    """Any bytes are answered, none raise."""
    declared = page.header("content-type")
    media_type = media_type_of(declared)
    language = page.header("content-language").partition(",")[0].strip()
    language = _spelled(language) if _LANGUAGE.fullmatch(language) else ""
    if not media_type.startswith("text/") and media_type not in _HTML:
        return Content(media_type, language=language)
    if not page.body or page.facts.undecoded:
        return Content(media_type, language=language)
    text = decode(page.body, declared)
    if media_type not in _HTML:
        return Content(media_type, text.charset, language)
    head = text.text[:_HEAD_CHARACTERS]
    lang = _LANG.search(head)
    return Content(media_type, text.charset, _spelled(lang[1]) if lang else language, _title(head))


def media_type_of(content_type: str) -> str:
    found = _TYPE.match(content_type.strip().lower())
    return found[0] if found else ""


def text_of(page: ArchivedPage) -> str:
    """The main text of an HTML page; other text as it is; nothing of what is no text."""
    declared = page.header("content-type")
    media_type = media_type_of(declared)
    if page.facts.undecoded:
        return ""
    if media_type in _HTML:
        return read_text(page.body, declared, page.facts.response_headers, MOST_TEXT_BYTES).text
    return decode(page.body, declared).text if media_type.startswith("text/") else ""


def _title(head: str) -> str:
    found = _TITLE.search(head)
    if found is not None and _NOT_HEAD.search(head, 0, found.start()):
        # One in a comment, a script or a picture is not the page's.
        found = _TITLE.search(_NOT_HEAD.sub("", head))
    return " ".join(unescape(found[1]).split())[:LONGEST_TITLE] if found else ""


def _spelled(language: str) -> str:
    return language.lower().replace("_", "-")
