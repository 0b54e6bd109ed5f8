"""A process that replays changelogs, one partition after the other: `python -m gregor.runtime.transport.kafka.restore_worker PARENT`.

What it is to do comes pickled at its standard input: the functions of a state are named in it, not sent. It says at its standard output,
one number a line, up to which offset the store has the log, before it what it passed over as FOREIGN with offset, size and the beginning
in hex, and DONE when that is the end and nobody holds the store any more. It ends with its input. Whatever goes wrong ends it too: the
store is then as of some checkpoint, and whoever gave the task goes on from there.
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
from gregor.config.sections import KafkaSection
from gregor.printable import printable
from gregor.runtime.parent_death import die_with_parent
from gregor.runtime.state.changelog import Replica, StoreIdentity
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import StateSpec, Store
from gregor.runtime.transport.kafka.changelog_reader import begin, read_slice
from gregor.runtime.transport.kafka.clients import Clients

DONE: Final = "done"
FOREIGN: Final = "foreign"


class RestoreTask(Struct, frozen=True, kw_only=True):
    """A stretch of a changelog, and the store that it belongs into, which nobody else holds."""

    names: Names
    kafka: KafkaSection
    topic: str
    folder: Path
    spec: StateSpec
    options: StoreOptions
    identity: StoreIdentity
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
        sys.exit(printable(f"a process that replays a changelog ends: {error}"))


def _tasks(source: BinaryIO) -> Iterator[RestoreTask]:
    while True:
        try:
            yield pickle.load(source)
        except EOFError:
            return


def replay(task: RestoreTask, reader: Consumer, memory: SharedMemory) -> None:
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
            for one in replica.foreign:
                print(FOREIGN, one.offset, one.size, one.beginning.hex())
            replica.foreign.clear()
            print(at, flush=True)
    reader.unassign()
    # Otherwise whoever opens it next would have to take in all of its write-ahead log.
    store.flush()
    store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
