"""The finished-orders window: orders finish out of order, the committed offset is the lowest one that has not.

What is finished above that offset stands in the position's metadata as a bitmap, committed in the same transaction as the results, so
that a re-delivery skips it. Bit i of byte b (lowest first) stands for offset + 1 + 8 b + i; base64 after the letter "w":

    offset          lowest unfinished        metadata  "w" + base64(bitmap)
      41 ░ 42 ■ 43 ■ 44 ░ 45 ■                 41, bits 1 1 0 1  ->  "wCw=="

Kafka takes 4,096 bytes of metadata at the most: past ``MOST_SPAN`` offsets between the lowest unfinished order and the highest known
one no new order of the partition is taken, so that the bitmap always fits.
"""

import base64
from typing import Final

from gregor.errors import TransportError
from gregor.runtime.transport.port import LARGEST_METADATA, Position

MOST_SPAN: Final = 16_000
"""Where new orders stop; polled orders beyond it still fit, up to (3,500 - 1) / 4 * 3 * 8 offsets."""


class OrderWindow:
    """The orders of one partition that are known: in flight, or finished."""

    def __init__(self, position: Position) -> None:
        self._low = position.offset
        """The lowest offset that may still have to be done; only grows."""
        self._next = position.offset
        """What the next delivery brings, unless the input is rewound."""
        self._in_flight: set[int] = set()
        self._finished = set(finished_above(position))

    def accept(self, offset: int) -> bool:
        """A delivered order: False when it is known already, in flight or finished."""
        known = offset in self._in_flight or offset in self._finished or offset < self._low
        if not known:
            self._in_flight.add(offset)
        self.passed(offset + 1)
        return not known

    def passed(self, offset: int) -> None:
        """Everything below ``offset`` was delivered, or is not a record."""
        self._next = max(self._next, offset)
        self._advance()

    def finish(self, offset: int) -> bool:
        """The order's results are to be committed; False when it was not in flight."""
        if offset not in self._in_flight:
            return False
        self._in_flight.discard(offset)
        self._finished.add(offset)
        self._advance()
        return True

    @property
    def in_flight(self) -> frozenset[int]:
        return frozenset(self._in_flight)

    @property
    def busy(self) -> bool:
        return bool(self._in_flight)

    @property
    def full(self) -> bool:
        return self._next - self._low > MOST_SPAN

    def position(self) -> Position:
        """What to commit; forgets what lies below it."""
        self._finished = {offset for offset in self._finished if offset > self._low}
        return Position(self._low, _encode(self._low, self._finished))

    def _advance(self) -> None:
        # Finished orders known from the metadata may also lie where the re-delivery has not come yet.
        while (self._low < self._next and self._low not in self._in_flight) or self._low in self._finished:
            self._low += 1


def _encode(low: int, finished: set[int]) -> str:
    if not finished:
        return ""
    bits = 0
    for offset in finished:
        bits |= 1 << (offset - low - 1)
    raw = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
    metadata = "w" + base64.b64encode(raw).decode()
    if len(metadata) > LARGEST_METADATA:
        raise TransportError(
            f"the window of finished orders is too wide: {len(metadata)} bytes of at most {LARGEST_METADATA}"
        )
    return metadata


def finished_above(position: Position) -> list[int]:
    """Offsets that are finished. Metadata that we did not write means that nothing above the offset is known to be finished."""
    if not position.metadata.startswith("w"):
        return []
    try:
        raw = base64.b64decode(position.metadata[1:], validate=True)
    except ValueError:
        return []
    bits = int.from_bytes(raw, "little")
    first = position.offset + 1
    return [first + i for i in range(bits.bit_length()) if bits >> i & 1]
