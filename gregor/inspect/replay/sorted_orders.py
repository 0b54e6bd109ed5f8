"""Orders by the partition of the frontier that made them. Where sites are placed, those of one partition stand in all of ``schedule``."""

from collections.abc import Iterator
from pathlib import Path

from gregor.inspect.audit.entries import lease_bytes, lease_numbers
from gregor.runtime.state.external_sort import ExternalSort
from gregor.runtime.transport.port import LogReader, Record
from schemas.codec import Undecodable
from schemas.schedule import decode_order

ORDERS = "schedule"


class SortedOrders:
    """In a sort on disk, so that the topic is read once for all partitions; ``advance`` takes in what came since."""

    def __init__(self, log: LogReader, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = log
        self._sorter = ExternalSort(folder)
        self._read: dict[int, int] = {}
        self._trimmed = False

    def advance(self) -> None:
        for partition, (first, end) in self._log.ends(ORDERS).items():
            start = self._read.get(partition, first)
            self._trimmed |= first > 0
            for record in self._log.read(ORDERS, partition, start, end) if start < end else ():
                try:
                    lease = lease_bytes(decode_order(record.value).lease)
                except Undecodable:
                    continue
                if lease is not None:
                    self._sorter.put(lease, record.value or b"")
            self._read[partition] = max(start, end)

    def of(self, partition: int) -> Iterator[Record]:
        """Those of one partition, by their numbers."""
        for key, value in self._sorter.entries(partition.to_bytes(4, "big")):
            yield Record(ORDERS, partition, lease_numbers(key)[1], None, value, None, 0)

    def are_left(self, partition: int, made: int, last: int) -> bool:
        """Whether every order behind one number and up to another still stands in the topic."""
        if not self._trimmed:
            return True
        return sum(1 for record in self.of(partition) if made < record.offset <= last) == last - made

    def close(self) -> None:
        self._sorter.close()
