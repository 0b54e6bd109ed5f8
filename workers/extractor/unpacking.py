"""The body of a list of URLs as text, piece by piece: unpacked if it is gzip, up to a limit, decoded."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from typing import Final

from workers.extractor import charset

PIECE: Final = 65_536
FED: Final = 4096
_HEAD: Final = 1024
_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?+\s*+(<\?xml[^>]*+>)")
_MARKS: Final = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")


class Unpacked:
    """A body that is read once, from its beginning, and never held unpacked as a whole."""

    def __init__(self, body: bytes, content_type: str, max_bytes: int) -> None:
        self._body = body
        self._content_type = content_type
        self._left = max_bytes
        self.complete = True
        """False as soon as it turns out to be cut: beyond the limit, or no gzip to its end."""

    def pieces(self) -> Iterator[str]:
        """None of them empty, all but the last long: whoever reads them may look twice at what a piece ends with."""
        decoder: codecs.IncrementalDecoder | None = None
        for piece in self._long():
            if decoder is None:
                decoder = codecs.getincrementaldecoder(_codec(piece[:_HEAD], self._content_type))("replace")
            text = decoder.decode(piece)
            if text:
                yield text
        rest = decoder.decode(b"", True) if decoder is not None else ""
        if rest:
            yield rest

    def _long(self) -> Iterator[bytes]:
        """Pieces put together, because a member of a gzip file may hold a single byte."""
        parts: list[bytes] = []
        size = 0
        for piece in self._limited():
            parts.append(piece)
            size += len(piece)
            if size >= PIECE:
                yield b"".join(parts)
                parts, size = [], 0
        if parts:
            yield b"".join(parts)

    def _limited(self) -> Iterator[bytes]:
        for piece in self._members() if _is_gzip(self._body) else self._plain():
            if len(piece) > self._left:
                self.complete = False
                yield piece[: self._left]
                return
            self._left -= len(piece)
            yield piece

    def _plain(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), PIECE):
            yield self._body[start : start + PIECE]

    def _members(self) -> Iterator[bytes]:
        """All members, one after the other, as gzip itself reads them; what follows the last one is padding."""
        unpacker, at = zlib.decompressobj(31), 0
        piece = b""
        try:
            # Little is handed over at a time, because what is left of it is copied with each piece and each member.
            while at < len(self._body) or (piece and not unpacker.eof):
                if unpacker.eof:
                    if not _is_gzip(self._body[at : at + 2]):
                        break
                    unpacker = zlib.decompressobj(31)
                given = self._body[at : at + FED]
                piece = unpacker.decompress(given, PIECE)
                at += len(given) - len(unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail)
                if piece:
                    yield piece
        except zlib.error:
            self.complete = False
        else:
            self.complete = self.complete and unpacker.eof


def unpacked_start(body: bytes, content_type: str, size: int) -> tuple[str, bool]:
    """The text of the first bytes, and whether there are more."""
    stream = Unpacked(body[: max(size, PIECE)], content_type, size)
    text = "".join(stream.pieces())
    return text, not stream.complete or len(body) > max(size, PIECE)


def _is_gzip(body: bytes) -> bool:
    return body.startswith(b"\x1f\x8b")


def _codec(head: bytes, content_type: str) -> str:
    """By byte order mark, else header, else XML declaration, else UTF-8.

    UTF-16 without a mark is believed only where the bytes show it: programs that hold text as UTF-16 write that name
    into documents which are then sent in UTF-8.
    """
    if not head.startswith(_MARKS):
        if head.startswith(b"<\0"):
            return "utf-16-le"
        if head.startswith(b"\0<"):
            return "utf-16-be"
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    # Nothing else is shown, so that a meta element somewhere inside is not taken for the document's own.
    declaration = _DECLARATION.match(head)
    page = charset.decode(declaration[1] if declaration else head[:2], content_type)
    if page.source == "bom":
        return "utf-16"
    if page.source == "fallback" or page.charset.startswith("utf-16"):
        return "utf-8"
    try:
        codecs.getincrementaldecoder(page.charset)
    except LookupError:
        return "utf-8"
    return page.charset
