"""What every engine refuses to commit, because only a bug asks for it."""

from collections.abc import Sequence, Set

from gregor.runtime.transport.port import LARGEST_METADATA, Commit, InvalidCommit, StageSpec, TopicPartition
from schemas.codec import LARGEST_RECORD


def check_commit(commit: Commit, stage: StageSpec, owned: Set[int]) -> None:
    """Raises InvalidCommit. ``owned``: the partitions that were assigned and not revoked."""
    wanted = {TopicPartition(topic, partition) for partition in owned for topic in stage.inputs}
    if not wanted:
        raise InvalidCommit(f"{stage.name} commits without owning a partition")
    if commit.positions.keys() != wanted:
        raise InvalidCommit(
            f"expected a position for each assigned partition; missing {_names(wanted - commit.positions.keys())}, "
            f"not assigned {_names(commit.positions.keys() - wanted)}"
        )
    for at, position in commit.positions.items():
        if len(position.metadata.encode()) > LARGEST_METADATA:
            raise InvalidCommit(f"more than {LARGEST_METADATA} bytes of metadata for {_names({at})}")
    for output in commit.outputs:
        if len(output.value) + len(output.header or b"") > LARGEST_RECORD:
            raise InvalidCommit(
                f"a record of {len(output.value)} bytes for {output.topic}, of at most {LARGEST_RECORD}"
            )
    if commit.mutations and (stage.state is None or not commit.mutations.keys() <= owned):
        raise InvalidCommit("mutations of a partition that is not assigned, or of a stage without state")


def check_changelog(partition: int, records: Sequence[tuple[bytes, bytes]]) -> None:
    """Raises InvalidCommit for a record that the broker would refuse whenever it is sent: the same commit would be built for ever."""
    for key, value in records:
        if len(value) > LARGEST_RECORD:
            raise InvalidCommit(
                f"a record of {len(value)} bytes for {key[:80]!r} in the changelog of partition {partition}, "
                f"of at most {LARGEST_RECORD}"
            )


def _names(partitions: Set[TopicPartition]) -> str:
    return ", ".join(f"{at.topic}[{at.partition}]" for at in sorted(partitions)) or "none"
