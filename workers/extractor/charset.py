"""The text of a page's bytes, and links as that page's charset writes them, both as browsers do it.

Charset labels come from strangers, so they are looked up in the table of the WHATWG encoding standard and never among
Python's codecs, where "unicode_escape" or "zip" would be found.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec
import webencodings  # type: ignore[import-untyped]

from workers.extractor.tags import ATTRIBUTE, ATTRIBUTES, BLANK

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
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
_HEADER = re.compile(r";\s*charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_QUERY_ENCODED: Final = frozenset(range(0x21)) | frozenset(b"\"#<>'") | frozenset(range(0x7F, 0x100))


class PageText(msgspec.Struct, frozen=True):
    """A page as text."""

    text: str
    charset: str
    """Name of the codec that was used."""
    source: str
    """What decided: "bom", "header", "meta", "xml" or "fallback"."""
    utf8: bytes
    """The text once more, for parsers; most pages come like that."""


def decode(body: bytes, content_type: str) -> PageText:
    """Decode by byte order mark, else header, else meta element, else XML declaration, else UTF-8 if it fits, else windows-1252."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _page(body[len(mark) :], name, "bom")
    header = _HEADER.search(content_type)
    codec = _codec(header[1]) if header else None
    if codec is not None:
        return _page(body, codec, "header")
    declared = _declared(body)
    if declared is not None:
        return _page(body, *declared)
    try:
        return PageText(body.decode("utf-8"), "utf-8", "fallback", body)
    except UnicodeDecodeError:
        return _page(body, "cp1252", "fallback")


def _page(body: bytes, codec: str, source: str) -> PageText:
    if codec == "utf-8":
        try:
            return PageText(body.decode(), codec, source, body)
        except UnicodeDecodeError:
            pass
    text = body.decode(codec, "replace")
    return PageText(text, codec, source, text.encode("utf-8", "replace"))


def encode_query(href: str, charset: str) -> str:
    """`href` with the non-ASCII part of its query escaped as bytes of the page's charset.

    Only there does the URL standard use the page's charset; paths are always UTF-8, and so are queries of UTF-8 and
    UTF-16 pages.
    """
    if href.isascii() or charset.startswith("utf-"):
        return href
    rest, hash_mark, fragment = href.partition("#")
    path, question_mark, query = rest.partition("?")
    query = _NON_ASCII.sub(lambda run: _escaped(run[0], charset), query)
    return f"{path}{question_mark}{query}{hash_mark}{fragment}"


def _escaped(run: str, charset: str) -> str:
    try:
        encoded = run.encode(charset)
    except UnicodeEncodeError:
        if len(run) == 1:
            return f"%26%23{ord(run)}%3B"
        return "".join(_escaped(character, charset) for character in run)
    return "".join(f"%{byte:02X}" if byte in _QUERY_ENCODED else chr(byte) for byte in encoded)


def _declared(body: bytes) -> tuple[str, str] | None:
    """The codec that the page itself names, and where. Bytes in which that could be read are no UTF-16."""
    head = body[:_PRESCAN_BYTES]
    if _SAID.search(head):
        for scanned in _SCANNED.finditer(head):
            meta, attributes, end = scanned.groups()
            codec = _codec_of_meta(attributes) if meta and end else None
            if codec is not None:
                return _read_as_bytes(codec), "meta"
    xml = _XML.match(head)
    codec = _codec((xml[1] or xml[2]).decode("latin-1")) if xml else None
    return (_read_as_bytes(codec), "xml") if codec is not None else None


def _codec_of_meta(tag: bytes) -> str | None:
    """Of a <meta> with these attributes, of each of which the first counts."""
    attributes: dict[bytes, bytes] = {}
    for name, *values in ATTRIBUTE.findall(tag):
        attributes.setdefault(name.lower(), b"".join(values))
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        found = _IN_CONTENT.search(attributes.get(b"content", b""))
        label = found[1] or found[2] or found[3] if found else None
    return _codec(label.decode("latin-1")) if label else None


def _read_as_bytes(codec: str) -> str:
    return "utf-8" if codec.startswith("utf-16") else codec


@lru_cache(maxsize=256)
def _codec(label: str) -> str | None:
    """Of a label that Python has a codec for; None: there is none.

    The standard has two encodings that are no charsets. "replacement" (iso-2022-kr, hz-gb-2312, ...) makes browsers show nothing, so that
    no script hides in what others read as text; here nothing is run, and the links of such pages are ASCII.
    """
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name in ("x-user-defined", "replacement"):
        return None
    return str(encoding.codec_info.name)
