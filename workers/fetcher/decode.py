"""Content codings, undone piece by piece: no input, however small, makes more than one or two pieces of output at a time.

    gzip, x-gzip    RFC 1952, several members one after another
    deflate         RFC 1950, or bare RFC 1951, which some servers send in its place
    br              RFC 7932
    zstd            RFC 8878, windows up to 8 MiB (RFC 9659)

What follows the end of a gzip or deflate body is ignored, as browsers do, and so is a name that is no coding: the body is taken as it is.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import brotli  # type: ignore[import-untyped]
from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

PIECE: Final = 256 * 1024
MOST_CODINGS: Final = 2
MOST_MEMBERS: Final = 1000
"""Members of a gzip body, frames of a zstd body: each one costs a new decoder."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_WINDOW_LOG: Final = 23


class DecodingFailed(ValueError):
    """The body is not what its Content-Encoding says, or nothing that is undone here."""


class Decoder(Protocol):
    """One coding of one body."""

    between: int
    """Bytes so far that one coding gave to another, and that no piece shows."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What ``data`` adds, in pieces of about ``PIECE`` bytes at the most, and never twice that. Raises DecodingFailed."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the body may end here."""
        ...


class GzipDecoder:
    between = 0

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._members = 1
        self._tail = b""
        self._over = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        data = self._tail + data
        self._tail = b""
        while data and not self._over:
            if not self._inflate.eof:
                yield from _inflated(self._inflate, data)
                data = self._inflate.unused_data
            elif len(data) < len(_GZIP_MAGIC):
                self._tail, data = data, b""
            elif data.startswith(_GZIP_MAGIC):
                self._next_member()
            else:
                self._over = True

    def _next_member(self) -> None:
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise DecodingFailed(f"gzip: more than {MOST_MEMBERS} members")
        self._inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def complete(self) -> bool:
        return self._inflate.eof


class DeflateDecoder:
    between = 0

    def __init__(self) -> None:
        self._inflate: zlib._Decompress | None = None
        self._head = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._head = self._head, b""
            wrapped = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        if not self._inflate.eof:
            yield from _inflated(self._inflate, data)

    @property
    def complete(self) -> bool:
        return self._inflate is not None and self._inflate.eof


def _inflated(inflate: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Until all of ``data`` is used up and zlib holds nothing back, or until its end."""
    try:
        while True:
            piece = inflate.decompress(data, PIECE)
            yield piece
            data = inflate.unconsumed_tail
            if inflate.eof or (not data and len(piece) < PIECE):
                return
    except zlib.error as error:
        raise DecodingFailed(f"gzip or deflate: {error}") from None


class BrotliDecoder:
    between = 0

    def __init__(self) -> None:
        self._decompress = brotli.Decompressor()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        try:
            while not self._decompress.is_finished():
                piece = self._decompress.process(data, output_buffer_limit=PIECE)
                yield piece
                data = b""
                # It may be ready for more input and hold back output all the same.
                if not piece and self._decompress.can_accept_more_data():
                    return
        except brotli.error as error:
            raise DecodingFailed(f"br: {error}") from None

    @property
    def complete(self) -> bool:
        return bool(self._decompress.is_finished())


class ZstdDecoder:
    between = 0

    def __init__(self) -> None:
        self._frames = 0
        self._decompress = self._new_frame()

    def _new_frame(self) -> ZstdDecompressor:
        self._frames += 1
        if self._frames > MOST_MEMBERS:
            raise DecodingFailed(f"zstd: more than {MOST_MEMBERS} frames")
        return ZstdDecompressor(options={DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})

    def pieces(self, data: bytes) -> Iterator[bytes]:
        try:
            while True:
                if self._decompress.eof:
                    data = self._decompress.unused_data or data
                    if not data:
                        return
                    self._decompress = self._new_frame()
                yield self._decompress.decompress(data, PIECE)
                data = b""
                if not self._decompress.eof and self._decompress.needs_input:
                    return
        except ZstdError as error:
            raise DecodingFailed(f"zstd: {error}") from None

    @property
    def complete(self) -> bool:
        return self._decompress.eof


class Stacked:
    """Codings applied one over another; ``outer`` was applied last."""

    def __init__(self, outer: Decoder, inner: Decoder) -> None:
        self._outer = outer
        self._inner = inner
        self.between = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        for piece in self._outer.pieces(data):
            self.between += len(piece)
            # An inner coding may turn all of it into nothing, and that is work as well: whoever reads can stop before.
            yield b""
            yield from self._inner.pieces(piece)

    @property
    def complete(self) -> bool:
        return self._outer.complete and self._inner.complete


_DECODERS: Final[dict[str, Callable[[], Decoder]]] = {
    "gzip": GzipDecoder,
    "x-gzip": GzipDecoder,
    "deflate": DeflateDecoder,
    "br": BrotliDecoder,
    "zstd": ZstdDecoder,
}


# The rest of IANA's registry: these bodies are not what they look like. "dcb" and "dcz" need a dictionary, "aes128gcm" a key.
_NOT_UNDONE: Final = frozenset(("aes128gcm", "compress", "dcb", "dcz", "exi", "pack200-gzip", "x-compress"))


def decoder_of(content_encoding: str) -> Decoder | None:
    """For the value of a Content-Encoding header; None: the body is not coded."""
    if not content_encoding:
        return None
    names = _names(content_encoding)
    for name in names:
        if name in _NOT_UNDONE:
            raise DecodingFailed(f"content coding {name!r} is not undone")
    known = [name for name in names if name in _DECODERS]
    if len(known) > MOST_CODINGS:
        raise DecodingFailed(f"{len(known)} content codings, at most {MOST_CODINGS} are undone")
    decoder: Decoder | None = None
    for name in known:
        decoder = _DECODERS[name]() if decoder is None else Stacked(_DECODERS[name](), decoder)
    return decoder


def no_coding_in(content_encoding: str) -> str:
    """What stands there and is no content coding; empty: nothing. Servers send "utf-8" and "none" with bodies that are not coded at all."""
    if not content_encoding:
        return ""
    return next((name for name in _names(content_encoding) if name not in _DECODERS and name not in _NOT_UNDONE), "")


def _names(content_encoding: str) -> list[str]:
    return [name for part in content_encoding.lower().split(",") if (name := part.strip()) not in ("", "identity")]
