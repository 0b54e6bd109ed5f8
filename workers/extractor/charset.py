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

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_PRESCAN_BYTES: Final = 4096
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)
_HEADER = re.compile(r";\s*charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_QUERY_ENCODED: Final = frozenset(range(0x21)) | frozenset(b"\"#<>'") | frozenset(range(0x7F, 0x100))


class PageText(msgspec.Struct, frozen=True):
    """A page as text."""

    text: str
    charset: str
    """Name of the codec that was used."""
    source: str
    """What decided: "bom", "header", "meta" or "fallback"."""
    utf8: bytes
    """The text once more, for parsers; most pages come like that."""


def decode(body: bytes, content_type: str) -> PageText:
    """Decode by byte order mark, else header, else meta element, else UTF-8 if it fits, else windows-1252."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _page(body[len(mark) :], name, "bom")
    header = _HEADER.search(content_type)
    codec = _codec(header[1]) if header else None
    if codec is not None:
        return _page(body, codec, "header")
    codec = _declared(body)
    if codec is not None:
        return _page(body, codec, "meta")
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


def _declared(body: bytes) -> str | None:
    meta = _META.search(_COMMENT.sub(b"", body[:_PRESCAN_BYTES]))
    if meta is None:
        return None
    codec = _codec(meta[1].decode("latin-1"))
    # Bytes in which "<meta" could be read are no UTF-16.
    return "utf-8" if codec is not None and codec.startswith("utf-16") else codec


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
