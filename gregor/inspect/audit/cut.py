"""How far everything was when the audit began: what lies below these positions must have arrived."""

from collections.abc import Mapping

from msgspec import Struct

from gregor.run.topology import ARCHIVER, FETCHER, FRONTIER
from gregor.runtime.loops.window import finished_above
from gregor.runtime.role import Role
from gregor.runtime.transport.port import LogReader, Position, TopicPartition
from schemas.changelog import Checkpoint
from workers.archiver.warc_writer import decode_note

AUDITED = ("discovered", "schedule", "fetched", "pages")


class Cut(Struct, frozen=True, kw_only=True):
    partitions: int
    checkpoints: Mapping[int, Checkpoint]
    """The frontier's last ones."""
    fetcher: Mapping[int, Position]
    archiver: Mapping[int, Position]
    """Empty: nobody archives."""
    first: Mapping[TopicPartition, int]
    """Where each topic begins now; above 0: it was trimmed."""

    def counters(self, partition: int) -> Mapping[str, int]:
        found = self.checkpoints.get(partition)
        return found.counters if found else {}

    def passed(self, topic: str, partition: int) -> int:
        """How far the frontier has read an input."""
        found = self.checkpoints.get(partition)
        return found.positions.get(topic, 0) if found else 0

    def whole(self, topic: str) -> bool:
        """Whether nothing of a topic was trimmed."""
        return all(not first for at, first in self.first.items() if at.topic == topic)

    def archived_since(self, partition: int) -> int:
        """The first page that an archiver had to archive."""
        position = self.archiver.get(partition)
        return decode_note(position.metadata).since if position is not None and position.metadata else 0

    def finished(self) -> dict[int, frozenset[int]]:
        """By partition of ``schedule``: the orders above the fetcher's position that are done."""
        return {partition: frozenset(finished_above(position)) for partition, position in self.fetcher.items()}


def cut_of(log: LogReader, partitions: int) -> Cut:
    def positions(role: Role, topic: str) -> dict[int, Position]:
        return {at.partition: position for at, position in log.committed(role.name, [topic]).items()}

    archiver = positions(ARCHIVER, "pages")
    fetcher = positions(FETCHER, "schedule")
    found = {partition: log.last_checkpoint(FRONTIER.name, partition) for partition in range(partitions)}
    return Cut(
        partitions=partitions,
        checkpoints={partition: checkpoint for partition, checkpoint in found.items() if checkpoint is not None},
        fetcher=fetcher,
        archiver=archiver,
        first={
            TopicPartition(topic, partition): first
            for topic in AUDITED
            for partition, (first, _) in log.ends(topic).items()
        },
    )
