"""A long changelog is replayed by processes of their own: the state is the same, and nobody's death harms it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from gregor.runtime.state.packed import Mutation, pack_delta
from gregor.runtime.transport.kafka import changelog_reader, restore, restore_pool
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.restore_pool import RestoreJob
from gregor.runtime.transport.kafka.restore_worker import RestoreTask
from gregor.runtime.transport.kafka.session import KafkaSession
from gregor.runtime.transport.port import Output, TopicPartition
from infra.kafka.cluster import KafkaCluster
from tests.runtime.transport.member import FAMILIES, FRONTIER, Member, settle, until
from tests.runtime.transport.test_kafka import KafkaHarness

COMMITS = 12
KEYS = 40

Kept = dict[int, dict[bytes, bytes]]
"""Partition to key to value, of the family ``seen``."""

OWNER = """
import os, signal, sys
from pathlib import Path
from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.transport.kafka import restore, restore_pool
from gregor.runtime.transport.kafka.transport import KafkaTransport
from tests.runtime.transport.embedded_folder import SMALL
from tests.runtime.transport.member import FRONTIER

restore.APART_BYTES = 0
restore_pool.MOST = 1
start = restore_pool.RestorePool.start

def holds_the_store(pid):
    try:
        return any("LOCK" in os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False

def held(self, task):
    one = start(self, task)
    while when == "at-work" and not one.ended and not holds_the_store(one.pid):
        continue
    os.kill(one.pid, signal.SIGSTOP)
    print(one.pid, flush=True)
    return one

restore_pool.RestorePool.start = held
bootstrap, name, folder, when = sys.argv[1:]
kafka = KafkaSection(bootstrap=bootstrap, session_timeout_s=6.0, transaction_timeout_s=10.0)
session = KafkaTransport(Names(name), kafka, Path(folder), SharedMemory(SMALL)).open(FRONTIER)
while True:
    session.poll(1000, 1 << 20, 0.1)
"""
"""A member whose process is held still before it has done anything, or at its work, so that the member can be killed meanwhile."""


@pytest.fixture
def harness(tmp_path: Path, kafka: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaHarness]:
    monkeypatch.setattr(restore, "APART_BYTES", 0)
    harness = KafkaHarness(tmp_path, kafka)
    yield harness
    harness.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[RestoreJob]:
    """Every process that was started, in order."""
    found: list[RestoreJob] = []
    start = restore_pool.RestorePool.start

    def noting(self: restore_pool.RestorePool, task: RestoreTask) -> RestoreJob | None:
        one = start(self, task)
        if one is not None:
            found.append(one)
        return one

    monkeypatch.setattr(restore_pool.RestorePool, "start", noting)
    return found


def crawled(harness: KafkaHarness) -> tuple[Member, Kept]:
    """A member that has committed state, with overwritten and deleted keys, and what it must hold."""
    member = Member(harness, FRONTIER)
    settle(member)
    kept: Kept = {partition: {} for partition in range(harness.partitions)}
    for number in range(COMMITS):
        mutations = {}
        for partition, entries in kept.items():
            gone = [b"%d" % key for key in range(KEYS) if (key + number) % 7 == 0]
            new = {b"%d" % key: b"%d-%d-%d" % (partition, key, number) for key in range(KEYS) if (key + number) % 7}
            for key in gone:
                entries.pop(key, None)
            entries.update(new)
            operations = [(FAMILIES.index("seen"), key, new.get(key)) for key in (*gone, *new)]
            mutations[partition] = [Mutation(b"server", pack_delta(operations))]
        member.commit(mutations=mutations)
    return member, kept


def held_by(member: Member) -> Kept:
    found: Kept = {}
    for partition, assignment in member.owned.items():
        assert assignment.state is not None
        found[partition] = dict(assignment.state.scan("seen"))
    return found


def robbed(harness: KafkaHarness, member: Member) -> None:
    """The member ends, and its disk is lost."""
    member.session.close()
    for folder in harness.folder.glob("*/frontier/partition-*"):
        shutil.rmtree(folder)


def back(harness: KafkaHarness, member: Member) -> Member:
    """The same member with a new session, at once: another one would wait for this one's session time-out."""
    member.session = harness.reopen(member.session)
    member.owned.clear()
    member.positions.clear()
    return member


def test_what_a_process_passes_over_is_told_by_its_member(harness: KafkaHarness, started: list[RestoreJob]) -> None:
    member, kept = crawled(harness)
    written = [(partition, value) for partition in range(4) for value in (b"hello", b"", b"Dear Sir" * 200)]
    harness.transport.append([Output(FRONTIER.changelog, partition, b"", value) for partition, value in written])
    member.commit(mutations={partition: [Mutation(b"server", pack_delta([(0, b"last", b"")]))] for partition in kept})
    robbed(harness, member)
    settle(back(harness, member))
    assert len(started) == 4
    assert held_by(member) == {partition: {**entries, b"last": b""} for partition, entries in kept.items()}
    for assignment in member.owned.values():
        told = [(one.size, one.beginning) for one in assignment.foreign]
        assert told == [(5, b"hello"), (0, b""), (1600, (b"Dear Sir" * 200)[:1000])]


@pytest.mark.parametrize("most", [1, 3])
def test_what_processes_replay_is_what_the_member_held(
    harness: KafkaHarness, started: list[RestoreJob], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(restore_pool, "MOST", most)
    member, kept = crawled(harness)
    robbed(harness, member)
    began = len(started)
    again = back(harness, member)
    settle(again)
    assert held_by(again) == kept
    assert len(started) - began == harness.partitions
    again.commit()


def test_a_restore_goes_on_in_the_member_when_its_process_dies(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)
    start = restore_pool.RestorePool.start

    def killed(self: restore_pool.RestorePool, task: RestoreTask) -> RestoreJob | None:
        one = start(self, task)
        assert one is not None
        os.kill(one.pid, signal.SIGKILL)
        return one

    monkeypatch.setattr(restore_pool.RestorePool, "start", killed)
    again = back(harness, member)
    settle(again)
    assert held_by(again) == kept
    assert "the member itself goes on with partition" in caplog.text


def test_a_state_whose_functions_cannot_be_named_is_restored_by_the_member(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)

    def unnamed(task: object) -> bytes:
        raise AttributeError("Can't pickle local object")

    monkeypatch.setattr("gregor.runtime.transport.kafka.restore_pool.pickle.dumps", unnamed)
    again = back(harness, member)
    settle(again)
    assert held_by(again) == kept
    assert "is replayed without a process of its own" in caplog.text


def test_a_member_that_leaves_in_the_middle_of_a_restore_leaves_no_process_behind(
    harness: KafkaHarness, started: list[RestoreJob]
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)
    leaving = back(harness, member)
    began = len(started)
    until(lambda: len(started) > began, [leaving])
    os.kill(started[-1].pid, signal.SIGSTOP)
    leaving.session.close()
    assert not any(Path(f"/proc/{one.pid}").exists() for one in started)
    again = back(harness, member)
    settle(again)
    assert held_by(again) == kept


@pytest.mark.parametrize("when", ["starting", "at-work"])
def test_a_process_dies_with_a_member_that_is_killed_and_the_next_one_restores_all(
    harness: KafkaHarness, kafka: KafkaCluster, when: str
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)
    folder = harness.folder / "0"
    command = [sys.executable, "-c", OWNER, kafka.bootstrap, harness.names.crawl, str(folder), when]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        owner.kill()
    if when == "starting":
        os.kill(pid, signal.SIGCONT)
    give_up = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < give_up, "it outlives its member"
        time.sleep(0.01)
    again = back(harness, member)
    settle(again)
    assert held_by(again) == kept


def test_a_marker_that_was_written_behind_the_end_meanwhile_is_no_foreign_state(
    harness: KafkaHarness, started: list[RestoreJob]
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)
    zombie = Clients(harness.names, harness.settings).producer("frontier", "zombie")
    zombie.init_transactions(10)
    zombie.begin_transaction()
    for partition in range(harness.partitions):
        zombie.produce(harness.names.topic("frontier-changelog"), b"never committed", b"server", partition)
    zombie.flush(10)
    again = back(harness, member)
    until(lambda: started, [again])
    zombie.abort_transaction(10)
    settle(again)
    assert held_by(again) == kept


def test_one_whose_process_died_has_the_restorer_to_itself_when_its_turn_comes(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)
    start = restore_pool.RestorePool.start
    first: list[RestoreJob] = []

    def only_one_and_that_dies(self: restore_pool.RestorePool, task: RestoreTask) -> RestoreJob | None:
        if first:
            return None
        one = start(self, task)
        assert one is not None
        first.append(one)
        os.kill(one.pid, signal.SIGKILL)
        return one

    monkeypatch.setattr(restore_pool.RestorePool, "start", only_one_and_that_dies)
    again = back(harness, member)
    settle(again)
    assert held_by(again) == kept
    assert "the member itself goes on with partition" in caplog.text


def test_a_member_leaves_in_the_middle_of_a_replay_of_its_own_although_its_consumer_does_not_close(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)
    monkeypatch.setattr(restore, "APART_BYTES", 1024 * 1024)
    monkeypatch.setattr(changelog_reader, "SLICE_RECORDS", 1)
    leaving = back(harness, member)
    session = leaving.session
    assert isinstance(session, KafkaSession)
    until(lambda: any(one.first < one.next < one.end for one in session.restoring().values()), [leaving])
    with monkeypatch.context() as without:
        without.setattr("gregor.runtime.transport.kafka.session.leave", lambda consumer: None)
        session.close()
    again = back(harness, member)
    settle(again)
    assert held_by(again) == kept


def test_partitions_that_need_no_process_do_not_wait_for_one(
    harness: KafkaHarness, started: list[RestoreJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore_pool, "MOST", 1)
    # Markers alone, which are all that those lack who kept their disk, are no bytes.
    monkeypatch.setattr(restore, "APART_BYTES", 1)
    monkeypatch.setattr(changelog_reader, "SLICE_RECORDS", 1)
    member, kept = crawled(harness)
    member.session.close()
    for partition in (0, 1):
        shutil.rmtree(restore.partition_folder(harness.folder / "0" / "frontier", partition))
    again = back(harness, member)
    until(lambda: started, [again])
    os.kill(started[0].pid, signal.SIGSTOP)
    until(lambda: again.owned.keys() == {2, 3}, [again])
    os.kill(started[0].pid, signal.SIGCONT)
    settle(again)
    assert held_by(again) == kept


def test_a_member_that_was_stopped_together_with_its_process_goes_on(
    harness: KafkaHarness, started: list[RestoreJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    member, kept = crawled(harness)
    robbed(harness, member)
    again = back(harness, member)
    until(lambda: started, [again])
    os.kill(started[0].pid, signal.SIGSTOP)
    again.step()
    monkeypatch.setattr(restore, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 3600))
    again.step()
    os.kill(started[0].pid, signal.SIGCONT)
    settle(again)
    assert held_by(again) == kept


def test_a_changelog_that_is_trimmed_while_it_is_replayed_is_looked_at_anew(
    harness: KafkaHarness, started: list[RestoreJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gregor.runtime.transport.kafka.transaction.Checkpointer._truncate", lambda *_: None)
    member, kept = crawled(harness)
    robbed(harness, member)
    again = back(harness, member)
    until(lambda: started, [again])
    os.kill(started[0].pid, signal.SIGSTOP)
    before = {}
    for partition in range(harness.partitions):
        last = harness.transport.last_checkpoint("frontier", partition)
        assert last is not None
        assert last.restorable_from > 0
        before[TopicPartition("frontier-changelog", partition)] = last.restorable_from
    harness.transport.trim(before)
    os.kill(started[0].pid, signal.SIGCONT)
    settle(again)
    assert held_by(again) == kept
