"""Reading a body: decoded while it comes, cut where a cap is reached, kept as far as it came when it breaks off.

A body that cannot be decoded from its beginning is kept as it came. That is no matter of luck with the network, so that asking again would
not help; a body that breaks off is, and one that would grow beyond all measure is somebody's intention (``TooDense``).
"""

import asyncio
from typing import Final, Protocol

from msgspec import Struct

from schemas.fetched import Outcome, Truncation
from workers.fetcher.backends.backend import Caps
from workers.fetcher.decode import Decoder, DecodingFailed, decoder_of, no_coding_in


class Body(Struct, frozen=True):
    """What was read."""

    data: bytes = b""
    wire_bytes: int = 0
    truncated: Truncation = ""
    undecoded: bool = False


NO_BODY: Final = Body()


class ByteStream(Protocol):
    """Where a body comes from, piece by piece; aiohttp's StreamReader is one."""

    def at_eof(self) -> bool: ...

    async def readany(self) -> bytes: ...


class TooDense(ValueError):
    """Too much comes out of too little."""


class BodyReader:
    """One body. Whatever ends the reading, ``so_far`` is what was read until then."""

    def __init__(self, content_encoding: str, caps: Caps) -> None:
        self._encoding = content_encoding
        self._caps = caps
        self._parts: list[bytes] = []
        self._came: list[bytes] = []
        """The coded body, as long as nothing has come out of it."""
        self._decoded = 0
        self._most = 0
        """Decoded bytes, by the last coding or by the one before it."""
        self._pieces = 0
        self._wire = 0
        self.ended_early = False
        """The coded body ended before its coding did, or went wrong on the way."""
        self.undecodable = ""
        """Why the coding cannot be undone; empty: it can."""

    def so_far(self, truncated: Truncation = "") -> Body:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return Body(data[: self._caps.body_bytes], self._wire, truncated, bool(self.undecodable))

    async def read(self, stream: ByteStream) -> Body:
        """To the end or to a cap. Raises TooDense, and what the stream raises."""
        try:
            decoder = decoder_of(self._encoding)
            if decoder is not None:
                return await self._read_coded(stream, decoder)
        except DecodingFailed as error:
            if self._decoded:
                # Good until here: a broken trailer, say, of a page that is whole. Browsers show what there is.
                self.ended_early = True
                return self.so_far("disconnect")
            self.undecodable = str(error)
            self._parts, self._came = self._came, []
        return await self._read_plain(stream)

    def judged(self, outcome: Outcome) -> tuple[Outcome, str]:
        """What becomes of the outcome that the status alone would have, once the body was read; and why."""
        if self.undecodable:
            return "undecodable" if outcome == "ok" else outcome, self.undecodable
        if self.ended_early:
            return outcome, "the body ended before its content coding did, or is damaged from there on"
        if strange := no_coding_in(self._encoding):
            return outcome, f"{strange[:40]!r} is no content coding: the body is taken as it came"
        return outcome, ""

    async def _read_plain(self, stream: ByteStream) -> Body:
        while self._wire <= self._caps.body_bytes and not stream.at_eof() and (chunk := await stream.readany()):
            self._wire += len(chunk)
            self._parts.append(chunk)
        return self.so_far("length" if self._wire > self._caps.body_bytes else "")

    async def _read_coded(self, stream: ByteStream, decoder: Decoder) -> Body:
        while not stream.at_eof() and (chunk := await stream.readany()):
            self._wire += len(chunk)
            if not self._decoded:
                self._came.append(chunk)
            for piece in decoder.pieces(chunk):
                if self._full:
                    break
                if self._pieces:
                    # Decoding is work, also where it gives nothing: others get a turn between two pieces.
                    await asyncio.sleep(0)
                self._keep(piece)
                self._most = max(self._decoded, decoder.between)
                self._check_ratio()
            if self._full or self._wire > self._caps.body_bytes:
                return self.so_far("length")
        if self._wire and not decoder.complete:
            self.ended_early = True
            return self.so_far("disconnect")
        return self.so_far()

    def _keep(self, piece: bytes) -> None:
        self._pieces += 1
        if piece:
            self._parts.append(piece)
            self._decoded += len(piece)
            self._came.clear()

    @property
    def _full(self) -> bool:
        return self._most > self._caps.body_bytes

    def _check_ratio(self) -> None:
        if self._most > self._caps.ratio_from and self._most > self._caps.ratio * self._wire:
            raise TooDense(
                f"{self._most} bytes from {self._wire} on the wire, at most {self._caps.ratio} for one are taken"
            )
