"""The text of a page's bytes, and links as that page's charset writes them, both as browsers do it.

Charsets are the encodings of the WHATWG Encoding Standard, by its names and by its rules, as Firefox has them (encoding_rs). Python's
codecs know other characters, drop bytes that browsers keep, and swallow the ASCII behind a broken character; and labels come from
strangers, who would find "unicode_escape" or "zip" among them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

import endec
import msgspec
import webencodings  # type: ignore[import-untyped]

from workers.extractor.tags import ATTRIBUTE, ATTRIBUTES, BLANK

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_PRESCAN_BYTES: Final = 4096
_SAID = re.compile(rb"charset", re.IGNORECASE)
# What the standard looks at before the page is parsed: comments, tags with their attributes, and other things in angle brackets.
_SCANNED = re.compile(
    rb"<(?:!--(?:.*?-->|.*)|(?:(meta)(?=[%b/])|/?+[a-z][^%b/>]*+)(%b)(>)?+|[!/?][^>]*+)" % (BLANK, BLANK, ATTRIBUTES),
    re.IGNORECASE | re.DOTALL,
)
_IN_CONTENT = re.compile(
    rb"""charset[%(b)b]*+=[%(b)b]*+(?:"([^"]*+)"|'([^']*+)'|([^%(b)b;"'][^%(b)b;]*+))""" % {b"b": BLANK}, re.IGNORECASE
)
_XML = re.compile(rb"""<\?xml[^>]*?encoding[\x00-\x20]*+=[\x00-\x20]*+(?:"([^"\x00-\x20]+)"|'([^'\x00-\x20]+)')""")
_HEADER = re.compile(r";\s*+charset\s*+=\s*+[\"']?+\s*+([^\s\"';,]+)", re.IGNORECASE)
# Bytes that end a query or that the URL standard escapes in one. Of controls, ESC is what iso-2022-jp writes; others are the URL parser's.
_ESCAPED_IN_QUERY = re.compile(rb"[\x1b\"#<>'\x7f-\xff]")
# iso-2022-jp has modes, and no way to write the controls that change them.
_UNCERTAIN = re.compile(r"[^\x00-\x7f]|[\x0e\x0f\x1b]")


class DecodedPage(msgspec.Struct, frozen=True):
    """A page as text."""

    text: str
    charset: str
    """Name of the encoding that was used, in lower case."""
    source: str
    """What decided: "bom", "header", "meta", "xml" or "fallback"."""
    utf8: bytes
    """The text once more, for parsers; most pages come like that."""


class NamedCharset(NamedTuple):
    """A page before it is decoded."""

    body: bytes
    """Without its byte order mark."""
    charset: str
    source: str


def named(body: bytes, content_type: str) -> NamedCharset:
    """The charset by byte order mark, else header, else meta element, else XML declaration, else ("fallback") UTF-8."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return NamedCharset(body[len(mark) :], name, "bom")
    header = _HEADER.search(content_type)
    encoding = _encoding(header[1]) if header else None
    if encoding is not None:
        return NamedCharset(body, encoding, "header")
    declared = _declared(body)
    return NamedCharset(body, *declared) if declared is not None else NamedCharset(body, "utf-8", "fallback")


def decode(body: bytes, content_type: str) -> DecodedPage:
    """Decode by the charset that is named, else UTF-8 if it fits, else windows-1252."""
    body, charset, source = named(body, content_type)
    if source != "fallback":
        return _page(body, charset, source)
    try:
        return DecodedPage(body.decode("utf-8"), charset, source, body)
    except UnicodeDecodeError:
        return _page(body, "windows-1252", source)


def _page(body: bytes, encoding: str, source: str) -> DecodedPage:
    if encoding == "utf-8":
        try:
            return DecodedPage(body.decode(), encoding, source, body)
        except UnicodeDecodeError:
            pass
    text = endec.decode(body, encoding, "replace", bom="ignore")
    return DecodedPage(text, encoding, source, text.encode())


def encode_query(href: str, charset: str) -> str:
    """`href` with the non-ASCII part of its query escaped as bytes of the page's charset.

    Only there does the URL standard use the page's charset; paths are always UTF-8, and so are queries of UTF-8 and
    UTF-16 pages.
    """
    if href.isascii() or charset.startswith("utf-"):
        return href
    rest, hash_mark, fragment = href.partition("#")
    path, question_mark, query = rest.partition("?")
    return f"{path}{question_mark}{_encoded(query, charset)}{hash_mark}{fragment}"


def _encoded(query: str, charset: str) -> str:
    """All of it at once, because of modes; what the charset cannot write is a character reference."""
    if query.isascii():
        return query
    try:
        encoded = endec.encode(query, charset)
    except UnicodeError:
        encoded = endec.encode(_UNCERTAIN.sub(lambda one: _written(one[0], charset), query), charset)
    return _ESCAPED_IN_QUERY.sub(lambda byte: b"%%%02X" % ord(byte[0]), encoded).decode("ascii")


def _written(character: str, charset: str) -> str:
    try:
        endec.encode(character, charset)
    except UnicodeError:
        return f"%26%23{0xFFFD if character.isascii() else ord(character)}%3B"
    return character


def _declared(body: bytes) -> tuple[str, str] | None:
    """The encoding that the page itself names, and where. Bytes in which that could be read are no UTF-16."""
    head = body[:_PRESCAN_BYTES]
    if _SAID.search(head):
        for scanned in _SCANNED.finditer(head):
            meta, attributes, end = scanned.groups()
            encoding = _encoding_of_meta(attributes) if meta and end else None
            if encoding is not None:
                return "windows-1252" if encoding == "x-user-defined" else _read_as_bytes(encoding), "meta"
    xml = _XML.match(head)
    encoding = _encoding((xml[1] or xml[2]).decode("latin-1")) if xml else None
    return (_read_as_bytes(encoding), "xml") if encoding is not None else None


def _encoding_of_meta(tag: bytes) -> str | None:
    """Of a <meta> with these attributes, of each of which the first counts."""
    attributes: dict[bytes, bytes] = {}
    for name, *values in ATTRIBUTE.findall(tag):
        attributes.setdefault(name.lower(), b"".join(values))
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        found = _IN_CONTENT.search(attributes.get(b"content", b""))
        label = found[1] or found[2] or found[3] if found else None
    return _encoding(label.decode("latin-1")) if label else None


def _read_as_bytes(encoding: str) -> str:
    return "utf-8" if encoding.startswith("utf-16") else encoding


@lru_cache(maxsize=256)
def _encoding(label: str) -> str | None:
    """What a label means; None: nothing.

    Several (iso-2022-kr, hz-gb-2312, ...) mean "replacement": of such a page browsers show nothing, so that no script hides in what others
    read as text.
    """
    encoding = webencodings.lookup(label)
    return None if encoding is None else str(encoding.name)
