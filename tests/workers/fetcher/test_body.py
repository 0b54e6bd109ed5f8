"""A body is read within its caps, whatever its codings make of it on the way."""

from __future__ import annotations

import asyncio
import random
import zlib
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from workers.fetcher.backends.backend import Caps
from workers.fetcher.body import Body, BodyReader, TooDense
from workers.fetcher.decode import PIECE

CAPS = Caps(connect_s=1, first_byte_s=1, total_s=60, body_bytes=4 << 20, header_bytes=16_384, headers=128)
PACKET = 65_536


def gzipped(data: bytes, level: int = 9) -> bytes:
    compress = zlib.compressobj(level, zlib.DEFLATED, 31)
    return compress.compress(data) + compress.flush()


def empty_blocks(size: int) -> bytes:
    """A bare deflate stream of so many bytes that never ends: blocks that hold no byte, each with a Huffman table of its own."""

    def bits(*fields: tuple[int, int]) -> str:
        return "".join(format(value, f"0{width}b")[::-1] for value, width in fields)

    order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1]
    lengths = [(1 if symbol in (18, 1) else 0, 3) for symbol in order]
    table = bits((0, 1), (2, 2), (0, 5), (0, 5), (14, 4), *lengths)
    four = (table + "1" + bits((127, 7)) + "1" + bits((107, 7)) + "000") * 4
    pattern = bytes(int(four[at : at + 8][::-1], 2) for at in range(0, len(four), 8))
    return pattern * (size // len(pattern))


class Wire:
    """What a server sent, one packet after another and never late."""

    def __init__(self, data: bytes) -> None:
        self._packets = [data[at : at + PACKET] for at in range(0, len(data), PACKET)]

    def at_eof(self) -> bool:
        return not self._packets

    async def readany(self) -> bytes:
        return self._packets.pop(0)


def read(encoding: str, wire: bytes, caps: Caps = CAPS) -> tuple[Body, int]:
    """The body, and how often others had a turn while it was read."""

    async def story() -> tuple[Body, int]:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        watching = asyncio.create_task(others())
        stream: Any = Wire(wire)
        try:
            return await BodyReader(encoding, caps).read(stream), turns
        finally:
            watching.cancel()

    return asyncio.run(story())


@pytest.mark.parametrize(
    "between", [empty_blocks(8 << 20), zlib.compress(b"") + bytes(8 << 20)], ids=["inside", "behind"]
)
def test_what_lies_between_two_codings_counts_as_decoded(between: bytes) -> None:
    body, _ = read("deflate, gzip", gzipped(between), replace(CAPS, body_bytes=1 << 20))
    assert (body.data, body.truncated) == (b"", "length")
    with pytest.raises(TooDense, match="on the wire"):
        read("deflate, gzip", gzipped(between), replace(CAPS, body_bytes=64 << 20))


@pytest.mark.parametrize("encoding", ["deflate", "deflate, gzip"])
def test_others_have_a_turn_while_a_coding_gives_nothing(encoding: str) -> None:
    blocks = empty_blocks(2 << 20)
    body, turns = read(encoding, gzipped(blocks, level=0) if "gzip" in encoding else blocks)
    assert (body.data, body.truncated) == (b"", "disconnect")
    assert turns >= len(blocks) // PIECE


def test_a_body_that_turns_out_not_to_be_coded_is_kept_whole_and_as_it_came() -> None:
    begun = gzipped(bytes(100))[:-8]
    wire = begun + b"\xff" * 3 * PACKET
    body, _ = read("gzip", wire)
    assert (body.data == wire, body.wire_bytes, body.truncated, body.undecoded) == (True, len(wire), "", True)
    cut, _ = read("gzip", wire, replace(CAPS, body_bytes=len(wire) - 1))
    assert (cut.data == wire[:-1], cut.truncated, cut.undecoded) == (True, "length", True)


def test_what_was_decoded_before_the_damage_is_kept() -> None:
    text = random.Random(1).randbytes(4 * PACKET)
    coded = gzipped(text)
    body, _ = read("gzip", coded[: 2 * PACKET] + b"\xff" * PACKET)
    assert (body.truncated, body.undecoded) == ("disconnect", False)
    assert len(body.data) > PACKET
    assert text.startswith(body.data[:PACKET])


class Packet(bytes):
    """Counts those that somebody still holds."""

    held: ClassVar[int] = 0

    def __del__(self) -> None:
        Packet.held -= 1


class CountedWire(Wire):
    most_held = 0

    async def readany(self) -> bytes:
        Packet.held += 1
        self.most_held = max(self.most_held, Packet.held)
        return Packet(await super().readany())


def test_packets_are_held_only_until_something_came_out_of_them() -> None:
    text = random.Random(1).randbytes(32 * PACKET)
    stream: Any = CountedWire(gzipped(text))
    body = asyncio.run(BodyReader("gzip", CAPS).read(stream))
    assert body.data == text
    assert stream.most_held <= 3
