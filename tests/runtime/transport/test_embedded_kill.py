"""kill -9 at any moment: what was committed is there, once, and nothing else is."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from gregor.runtime.state.options import SharedMemory
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import Assigned, Batch, CheckpointInfo, Commit, Output, Position, TopicPartition
from tests.runtime.transport.embedded_folder import ROOT, SETTINGS, SMALL, opened
from tests.runtime.transport.member import FRONTIER, STAGES, fill, seen, values

RECORDS = 14_000
KILLS = 5


def copier(folder: Path) -> None:
    """Copies discovered to verdicts in small commits, marks each in the state, and says how many commits were answered."""
    transport = EmbeddedTransport.at(folder, SETTINGS, SharedMemory(SMALL), STAGES)
    session = transport.open(FRONTIER)
    positions: dict[TopicPartition, Position] = {}
    print("ready", flush=True)
    while True:
        event = session.poll(7, 1 << 20, 0.0)
        if isinstance(event, Assigned):
            for partition, assignment in event.partitions.items():
                positions |= {TopicPartition(topic, partition): at for topic, at in assignment.positions.items()}
        elif isinstance(event, Batch):
            if not event.records:
                break
            positions |= {at: Position(offset) for at, offset in event.positions.items()}
            outputs = [Output("verdicts", r.partition, r.key or b"", r.value or b"") for r in event.records]
            marks = {
                p: [seen(r.offset) for r in event.records if r.partition == p]
                for p in {r.partition for r in event.records}
            }
            session.commit(
                Commit(
                    epoch=event.epoch,
                    outputs=outputs,
                    positions=positions,
                    mutations=marks,
                    mark=CheckpointInfo(now_ms=0),
                )
            )
            os.write(1, b"%d\n" % len(outputs))
    print("done", flush=True)
    time.sleep(600)


def test_kill_9_in_the_middle_of_commits_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    with opened(tmp_path) as transport:
        fill(transport, ("discovered",), SETTINGS.partitions, range(RECORDS // SETTINGS.partitions))
        expected = values(transport, "discovered")
    answered = kills_within = 0
    copied: Counter[bytes] = Counter()
    for kill in range(KILLS + 1):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.runtime.transport.test_embedded_kill", tmp_path],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        limit = chance.randrange(1, 60) if kill < KILLS else RECORDS
        for _ in range(limit):
            line = child.stdout.readline()
            if line in (b"done\n", b""):
                break
            answered += int(line)
        else:
            kills_within += 1
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read()
        answered += sum(int(line) for line in rest.splitlines() if line.isdigit())
        child.wait()
        child.stdout.close()
        copied, committed, marked = found(tmp_path)
        assert copied - expected == Counter()
        assert max(copied.values(), default=0) <= 1
        assert copied.total() == committed == marked
        assert copied.total() >= answered
        # A commit that was killed before it could be answered may stand.
        assert copied.total() <= answered + 7 * (kill + 1)
    # The others may have come too late, when everything was copied.
    assert kills_within >= 2
    assert copied == expected


def found(folder: Path) -> tuple[Counter[bytes], int, int]:
    """What was copied, how far the group stands, and how many records the state knows."""
    with opened(folder) as transport:
        copied = values(transport, "verdicts")
        positions = transport.committed("frontier", ("discovered",))
        session = transport.open(FRONTIER)
        event = session.poll(1, 1, 0.0)
        assert isinstance(event, Assigned)
        states = [assignment.state for assignment in event.partitions.values()]
        marked = sum(sum(1 for _ in state.scan("seen")) for state in states if state is not None)
    return copied, sum(position.offset for position in positions.values()), marked


if __name__ == "__main__":
    copier(Path(sys.argv[1]))
