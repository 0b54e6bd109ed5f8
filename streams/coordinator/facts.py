"""What the coordinator knows of all sites together: how many it has met, how many slots are in use, how loaded each partition is."""

from collections.abc import Iterator
from struct import Struct as Packing
from typing import Final

import msgspec
from msgspec import Struct

from gregor.runtime.state.packed import Operation
from gregor.runtime.state.store import StateReader
from streams.coordinator.families import FACTS, NUMBERS

_FACTS: Final = b"facts"
_LOAD: Final = b"load"
_SLOT: Final = Packing(">H")
_PAIR: Final = Packing("<QQ")
MOST_LOAD: Final = 1 << 48
"""URLs that a partition is believed to have at the most, so that sums stay small whatever is told."""
NOT_SAID: Final = -1


class DurableFacts(Struct, frozen=True, array_like=True):
    """What is stored of the crawl as a whole."""

    ranks: int = 0
    """Sites that have a rank; the next one's."""
    slots: int = NOT_SAID
    """What `gregor sites slots` said last, 0: all; NOT_SAID: nothing, the configuration decides."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(DurableFacts).decode


def facts_of(state: StateReader) -> DurableFacts:
    found = state.get(FACTS, _FACTS)
    return DurableFacts() if found is None else _decode(found)


class Facts:
    """As of now; ``operations`` is what has changed since the last checkpoint, which ``committed`` and ``dropped`` end."""

    def __init__(self, state: StateReader, partitions: int, configured_slots: int) -> None:
        self._state = state
        self._partitions = partitions
        self._configured = configured_slots
        self._read()

    def _read(self) -> None:
        stored = facts_of(self._state)
        self._stored = stored
        self.ranks = stored.ranks
        self.said_slots = stored.slots
        self.loads = [0] * self._partitions
        """URLs queued or in flight, as each partition told it last."""
        self.given = [0] * self._partitions
        """Sites that each partition was given since it told that."""
        for key, value in self._state.scan(FACTS, _LOAD, _LOAD + b"\xff\xff\xff"):
            slot = _SLOT.unpack(key[len(_LOAD) :])[0]
            if slot < self._partitions:
                self.loads[slot], self.given[slot] = _PAIR.unpack(value)
        self.total_load = sum(self.loads)
        self._touched: set[int] = set()
        self.heard = set(range(self._partitions))
        """Partitions of which something else holds than whoever keeps an order of them has seen; theirs to clear."""

    @property
    def slots(self) -> int:
        """How many partitions get new sites, the first ones."""
        said = self._configured if self.said_slots == NOT_SAID else self.said_slots
        return min(said, self._partitions) or self._partitions

    def told(self, partition: int, load: int) -> None:
        load = min(max(load, 0), MOST_LOAD)
        self.total_load += load - self.loads[partition]
        self.loads[partition], self.given[partition] = load, 0
        self._touched.add(partition)
        self.heard.add(partition)

    def gave(self, slots: list[int]) -> None:
        for slot in slots:
            self.given[slot] += 1
        self._touched.update(slots)
        self.ranks += len(slots)

    def operations(self) -> Iterator[Operation]:
        now = DurableFacts(self.ranks, self.said_slots)
        if now != self._stored:
            yield NUMBERS[FACTS], _FACTS, _encode(now)
        for slot in sorted(self._touched):
            yield NUMBERS[FACTS], _LOAD + _SLOT.pack(slot), _PAIR.pack(self.loads[slot], self.given[slot])

    def committed(self) -> None:
        self._stored = DurableFacts(self.ranks, self.said_slots)
        self._touched = set()

    def dropped(self) -> None:
        if self._touched or DurableFacts(self.ranks, self.said_slots) != self._stored:
            self._read()
