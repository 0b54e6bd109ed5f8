"""A proxy that refuses the first batch written to a topic, as a broker does that is not yet, or no longer, the leader."""

import asyncio
import struct
from contextlib import suppress

from tests.chaos.proxy import Proxy

PRODUCE = 0
NOT_LEADER = 6
OVERTAKEN_WITHIN_S = 0.5
"""How long the refusal waits for a second batch: a client that sends one before the first was answered has sent it by then."""


class RefusingProxy(Proxy):
    """Lets everything through but the first ProduceRequest for a topic whose name ends in ``ending``."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self._ending = ending.encode()
        self.refused = 0
        self.overtaken = False
        """Whether a batch came before the refusal of the first was answered."""
        self._came = asyncio.Event()

    async def _ask(
        self, client: asyncio.StreamReader, broker: asyncio.StreamWriter, answers: asyncio.StreamWriter
    ) -> None:
        refusals: set[asyncio.Task[None]] = set()
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await client.readexactly(4)
                request = await client.readexactly(int.from_bytes(size))
                batch = _batch_of(request)
                if batch is None or not batch[0].endswith(self._ending):
                    broker.write(size + request)
                elif not self.refused:
                    self.refused += 1
                    refusals.add(asyncio.create_task(self._refuse(request[4:8], *batch, answers)))
                else:
                    broker.write(size + request)
                    self.overtaken = self.overtaken or any(not one.done() for one in refusals)
                    self._came.set()
                await broker.drain()
        broker.close()

    async def _refuse(self, correlation: bytes, topic: bytes, partition: int, answers: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._came.wait(), OVERTAKEN_WITHIN_S)
            # Its answer goes first or second: the client sorts them by their numbers.
            await asyncio.sleep(OVERTAKEN_WITHIN_S / 10)
        answer = _refusal(correlation, topic, partition)
        answers.write(len(answer).to_bytes(4) + answer)
        await answers.drain()


def _batch_of(request: bytes) -> tuple[bytes, int] | None:
    """Topic and partition of a ProduceRequest of version 9 to 12, which librdkafka sends for one partition at a time."""
    kind, version = struct.unpack_from(">hh", request)
    if kind != PRODUCE:
        return None
    assert 9 <= version <= 12, f"a ProduceRequest of version {version} has another layout"
    at = 8
    at += 2 + max(0, struct.unpack_from(">h", request, at)[0])  # the client's id
    at += 1  # no tags
    length, at = _varint(request, at)  # the transactional id
    at += max(0, length - 1) + 2 + 4  # acks and time-out
    topics, at = _varint(request, at)
    length, at = _varint(request, at)
    topic = request[at : at + length - 1]
    partitions, at = _varint(request, at + length - 1)
    assert (topics, partitions) == (2, 2)
    return topic, struct.unpack_from(">i", request, at)[0]


def _refusal(correlation: bytes, topic: bytes, partition: int) -> bytes:
    """A ProduceResponse of version 9 to 12: one topic, one partition, NOT_LEADER_OR_FOLLOWER; counts are one more than they say."""
    outcome = struct.pack(">ihqqq", partition, NOT_LEADER, -1, -1, -1) + b"\x01\x00\x00"
    return (
        correlation + b"\x00\x02" + bytes([len(topic) + 1]) + topic + b"\x02" + outcome + b"\x00" + bytes(4) + b"\x00"
    )


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
