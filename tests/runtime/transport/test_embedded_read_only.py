"""The folder of an embedded crawl can be read by anybody, at any time, and its owner does not notice."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from gregor.errors import ForeignState
from gregor.runtime.state.packed import Mutation, pack_delta
from gregor.runtime.transport.embedded.read_only import ReadOnlyLog
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.port import Assigned, CheckpointInfo, Commit, Output, Position, TopicPartition
from tests.runtime.transport.embedded_folder import ROOT, opened
from tests.runtime.transport.member import EXTRACTOR, FRONTIER

PLACES = [TopicPartition(topic, partition) for topic in FRONTIER.inputs for partition in (0, 1)]


def write(transport: EmbeddedTransport, number: int) -> None:
    transport.append([Output("discovered", 0, b"server", b"%d" % number), Output("verdicts", 0, b"", b"%d" % number)])


def test_what_was_committed_is_seen_while_the_owner_holds_the_folder(tmp_path: Path) -> None:
    with opened(tmp_path / "crawl") as owner:
        write(owner, 1)
        session = owner.open(FRONTIER)
        event = session.poll(10, 1000, 0.0)
        assert isinstance(event, Assigned)
        delta = Mutation(b"server", pack_delta([(0, b"key", b"value")]))
        session.commit(
            Commit(
                epoch=event.epoch,
                positions=dict.fromkeys(PLACES, Position(0)) | {TopicPartition("discovered", 0): Position(1, "note")},
                mutations={0: [delta]},
                mark=CheckpointInfo(now_ms=5, counters={0: {"admitted": 1}}),
            )
        )
        reader = ReadOnlyLog(tmp_path / "crawl")
        assert [record.value for record in reader.read("discovered", 0, 0)] == [b"1"]
        assert reader.ends("discovered") == owner.ends("discovered")
        assert reader.committed("frontier", FRONTIER.inputs) == owner.committed("frontier", FRONTIER.inputs)
        assert reader.last_checkpoint("frontier", 0) == owner.last_checkpoint("frontier", 0)
        state = reader.state(FRONTIER, 0)
        assert state is not None
        assert state.get("seen", b"key") == b"value"
        assert reader.state(EXTRACTOR, 0) is None
        write(owner, 2)
        assert [record.value for record in reader.read("discovered", 0, 0)] == [b"1"]
        reader.catch_up()
        assert [record.value for record in reader.read("discovered", 0, 0)] == [b"1", b"2"]
        reader.close()
        write(owner, 3)
    with opened(tmp_path / "crawl") as owner:
        assert [record.value for record in owner.read("discovered", 0, 0)] == [b"1", b"2", b"3"]


def test_looking_changes_nothing_that_the_owner_reads(tmp_path: Path) -> None:
    with opened(tmp_path / "crawl") as owner:
        write(owner, 1)
    database = tmp_path / "crawl" / "db"

    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(database.iterdir())}

    before = contents()
    reader = ReadOnlyLog(tmp_path / "crawl")
    assert [record.value for record in reader.read("discovered", 0, 0)] == [b"1"]
    reader.close()
    assert contents() == before


def test_a_folder_without_a_crawl_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ForeignState, match="found none"):
        ReadOnlyLog(tmp_path)
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys
from itertools import count
from pathlib import Path
from gregor.runtime.transport.port import Output, TopicPartition
from tests.runtime.transport.embedded_folder import opened
with opened(Path(sys.argv[1])) as owner:
    for number in count():
        owner.append([
            Output("discovered", 0, b"", b"%d " % number + bytes(20000)), Output("verdicts", 0, b"", b"%d" % number)
        ])
        owner.trim({TopicPartition("discovered", 0): number - 50})
        if number == 20:
            print("begun", flush=True)
"""


def test_every_look_at_a_folder_that_is_written_and_trimmed_shows_one_moment_of_it(tmp_path: Path) -> None:
    """A batch is seen whole: both topics end with the same number, and nothing between is missing."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "crawl")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == b"begun\n"
            seen = [0]
            for turn in count():
                reader = ReadOnlyLog(tmp_path / "crawl")
                numbers = [int((record.value or b"").split()[0]) for record in reader.read("discovered", 0, 0)]
                last = [int(record.value or b"") for record in reader.read("verdicts", 0, 0)][-1]
                reader.close()
                assert numbers == list(range(numbers[0], last + 1))
                seen.append(last)
                assert writer.poll() is None
                if turn >= 10 and last > 500:
                    break
            assert seen == sorted(seen)
        finally:
            writer.kill()
