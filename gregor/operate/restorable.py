"""Whether a state can be restored from its changelog, found out by reading it."""

from typing import Final

from gregor.runtime.state.rehearsal import Rehearsal
from gregor.runtime.transport.port import LogReader, StageSpec

_SLICE: Final = 1_000


def check_restorable(log: LogReader, spec: StageSpec, partition: int) -> None:
    """Raises CorruptState, which names the record, when a restore into an empty folder would stop."""
    ends = log.ends(spec.changelog)
    if spec.state is None or partition not in ends:
        # Of a crawl with more partitions than this one has: nothing of it will be asked for.
        return
    start, end = ends[partition]
    rehearsal = Rehearsal(spec.state, partition, start, end)
    slice_: list[tuple[int, bytes | None]] = []
    for record in log.read(spec.changelog, partition, start, end):
        slice_.append((record.offset, record.value))
        if len(slice_) >= _SLICE:
            rehearsal.take(slice_, record.offset + 1)
            slice_ = []
    rehearsal.take(slice_, end)
