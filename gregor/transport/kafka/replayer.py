"""A process that replays changelogs, one partition after the other: `python -m gregor.transport.kafka.replayer PARENT`.

What it is to do comes pickled at its standard input: the functions of a state are named in it, not sent. It says at its standard output,
one number a line, up to which offset the store has the log, and DONE when that is the end and nobody holds the store any more. It ends
with its input. Whatever goes wrong ends it too: the store is then as of some checkpoint, and whoever gave the task goes on from there.
"""

import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from confluent_kafka import Consumer
from msgspec import Struct

from gregor.config import Names
from gregor.config.sections import Kafka
from gregor.state.options import SharedMemory, StoreOptions
from gregor.state.replay import Identity, Replica
from gregor.state.store import StateSpec, Store
from gregor.transport.kafka.clients import Clients
from gregor.transport.kafka.slices import begin, read_slice
from gregor.transport.orphan import die_with_parent

DONE: Final = "done"


class Task(Struct, frozen=True, kw_only=True):
    """A stretch of a changelog, and the store that it belongs into, which nobody else holds."""

    names: Names
    kafka: Kafka
    topic: str
    folder: Path
    spec: StateSpec
    options: StoreOptions
    identity: Identity
    start: int
    """Where the log begins."""
    end: int
    """Where it ended when the partition was assigned."""


def main(parent: int) -> None:
    # Whoever stops a whole service means the member: it decides when this one ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    die_with_parent(parent)
    reader: Consumer | None = None
    memory: SharedMemory | None = None
    try:
        for task in _tasks(sys.stdin.buffer):
            reader = reader or Clients(task.names, task.kafka).bounded_reader()
            memory = memory or SharedMemory(task.options)
            replay(task, reader, memory)
            print(DONE, flush=True)
    except Exception as error:  # rocksdict raises bare Exception for everything
        # In a few words: the member tries the same, and tells what there is to tell.
        sys.exit(f"a process that replays a changelog ends: {error}")


def _tasks(source: BinaryIO) -> Iterator[Task]:
    while True:
        try:
            yield pickle.load(source)
        except EOFError:
            return


def replay(task: Task, reader: Consumer, memory: SharedMemory) -> None:
    store = Store(task.folder, task.spec.families, memory)
    replica = Replica.open(store, task.spec, task.identity)
    replica.standing(task.start, task.end)
    at = max(task.start, replica.applied)
    begin(reader, task.topic, task.identity.partition, at)
    while at < task.end:
        taken = read_slice(reader, at)
        if taken.error is not None:
            raise taken.error
        if taken.next > at:
            replica.replay(taken.records, taken.next)
            at = taken.next
            print(at, flush=True)
    reader.unassign()
    # Otherwise whoever opens it next would have to take in all of its write-ahead log.
    store.flush()
    store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
