"""Reading a body: decoded while it comes, cut where a cap is reached, kept as far as it came when it breaks off."""

import asyncio
from typing import Final

from aiohttp import StreamReader
from msgspec import Struct

from schemas.fetched import Truncation
from workers.fetcher.decode import DecodingFailed, decoder_of
from workers.fetcher.port import Caps


class Body(Struct, frozen=True):
    """What was read."""

    data: bytes = b""
    wire_bytes: int = 0
    truncated: Truncation = ""


NO_BODY: Final = Body()


class BodyReader:
    """One body. Whatever ends the reading, ``so_far`` is what was read until then."""

    def __init__(self, content_encoding: str, caps: Caps) -> None:
        self._encoding = content_encoding
        self._caps = caps
        self._parts: list[bytes] = []
        self._decoded = 0
        self._most = 0
        """Decoded bytes, by the last coding or by the one before it."""
        self._pieces = 0
        self._wire = 0
        self.ended_early = False
        """The coded body ended before its coding did."""

    def so_far(self, truncated: Truncation = "") -> Body:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return Body(data[: self._caps.body_bytes], self._wire, truncated)

    async def read(self, stream: StreamReader) -> Body:
        """To the end or to a cap. Raises DecodingFailed, and what the stream raises."""
        decoder = decoder_of(self._encoding)
        while not stream.at_eof() and (chunk := await stream.readany()):
            self._wire += len(chunk)
            if decoder is None:
                self._parts.append(chunk)
                self._most += len(chunk)
            else:
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
        if decoder is not None and self._wire and not decoder.complete:
            self.ended_early = True
            return self.so_far("disconnect")
        return self.so_far()

    def _keep(self, piece: bytes) -> None:
        self._pieces += 1
        if piece:
            self._parts.append(piece)
            self._decoded += len(piece)

    @property
    def _full(self) -> bool:
        return self._most > self._caps.body_bytes

    def _check_ratio(self) -> None:
        if self._most > self._caps.ratio_from and self._most > self._caps.ratio * self._wire:
            raise DecodingFailed(
                f"{self._most} bytes from {self._wire} on the wire, at most {self._caps.ratio} for one are taken"
            )
