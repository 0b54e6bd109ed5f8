"""The partitions that arrive at a member, and which of them has its turn.

Those that have a process of their own go on side by side. The others are the member's own work, one at a time and a slice in each poll, so
that the partitions that it already has go on as well.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer

from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.restore import APART_BYTES, Changelog, PartitionRestore
from gregor.runtime.transport.kafka.restore_pool import RestorePool
from gregor.runtime.transport.port import Restoring

ARRIVING_S: Final = 0.02


class RestoreTurns:
    """Owns what restores share: the reader that one of them has at a time, and the processes."""

    def __init__(self, clients: Clients, inputs: Mapping[str, str], changelog: Changelog | None) -> None:
        self._inputs = inputs
        self._changelog = changelog
        # An open transaction of the last owner ends within its time-out; a broker may be away for longer.
        self._patience_s = max(2 * clients.kafka.transaction_timeout_s, clients.kafka.give_up_after_s)
        # Of a long changelog nobody here wants more than its beginning.
        self._restorer = clients.bounded_reader(APART_BYTES)
        self._pool = RestorePool()
        self._arriving: dict[int, PartitionRestore] = {}
        self._served: PartitionRestore | None = None
        """The one restore that has the restorer."""

    def add(self, partition: int) -> None:
        self._arriving[partition] = PartitionRestore(
            partition, self._inputs, self._changelog, self._patience_s, self._pool
        )

    def give_up(self, partition: int) -> None:
        """It went elsewhere; nothing if it is not among those that arrive."""
        if partition in self._arriving:
            self._arriving.pop(partition).close()

    def give_up_all(self) -> None:
        for one in self._arriving.values():
            one.close()
        self._arriving.clear()

    def advance(self, group: Consumer, reader: Consumer) -> list[PartitionRestore]:
        """Let those whose turn it is go on. What is ready is returned and arrives no more."""
        arriving = list(self._arriving.values())
        if self._served not in arriving or not self._served.needs_turn:
            self._served = next((one for one in arriving if one.needs_turn), None)
        advancing = [one for one in arriving if one is self._served or not one.needs_turn]
        ready = [one for one in advancing if one.advance(group, reader, self._restorer)]
        for one in ready:
            del self._arriving[one.partition]
        if not self._arriving:
            self._pool.dismiss()
        return ready

    def waits(self, wait: float) -> float:
        """For input, seconds: not at all while there is something to restore, shortly while others do that."""
        if not self._arriving:
            return wait
        return min(wait, ARRIVING_S) if self._served is None or self._served.idle else 0.0

    def progress(self) -> dict[int, Restoring]:
        return {partition: one.progress for partition, one in self._arriving.items()}

    def close(self) -> None:
        # Before the restorer, which one of them may still give back.
        self.give_up_all()
        self._pool.dismiss()
        self._restorer.close()
