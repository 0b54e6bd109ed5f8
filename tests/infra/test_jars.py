"""The cache of the broker's jars is whole or not there, whoever fetches and whatever interrupts it."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path

import pytest

from infra.kafka.errors import KafkaError
from infra.kafka.jars import ensure_jars, is_whole

NAMES = [f"part-{i}.jar" for i in range(5)]


def copy_five(target: Path) -> None:
    for name in NAMES:
        with zipfile.ZipFile(target / name, "w") as jar:
            jar.writestr("Main.class", name * 100)


def never(target: Path) -> None:
    raise AssertionError("fetched although a whole entry was there")


def test_a_whole_entry_is_fetched_once(tmp_path: Path) -> None:
    entry = ensure_jars(tmp_path, copy_five)
    assert sorted(jar.name for jar in entry.glob("*.jar")) == NAMES
    assert ensure_jars(tmp_path, never) == entry


def test_a_fetch_that_breaks_off_leaves_no_entry_and_the_next_one_succeeds(tmp_path: Path) -> None:
    def break_off(target: Path) -> None:
        copy_five(target)
        raise ConnectionError("the network went away")

    with pytest.raises(ConnectionError):
        ensure_jars(tmp_path, break_off)
    assert [path.name for path in (tmp_path / "kafka").iterdir()] == ["lock"]
    assert is_whole(ensure_jars(tmp_path, copy_five))


def test_what_a_killed_fetch_left_behind_is_not_taken_and_is_swept_away(tmp_path: Path) -> None:
    stray = tmp_path / "kafka" / "fetching-killed"
    stray.mkdir(parents=True)
    copy_five(stray)
    assert is_whole(ensure_jars(tmp_path, copy_five))
    assert not stray.exists()


@pytest.mark.parametrize("damage", ["cut short", "missing", "no manifest"])
def test_a_damaged_entry_is_fetched_anew(tmp_path: Path, damage: str) -> None:
    entry = ensure_jars(tmp_path, copy_five)
    if damage == "cut short":
        (entry / NAMES[2]).write_bytes((entry / NAMES[2]).read_bytes()[:-10])
    elif damage == "missing":
        (entry / NAMES[2]).unlink()
    else:
        (entry / "manifest.json").unlink()
    assert not is_whole(entry)
    assert is_whole(ensure_jars(tmp_path, copy_five))


def test_a_jar_that_arrives_damaged_is_refused(tmp_path: Path) -> None:
    def cut(target: Path) -> None:
        copy_five(target)
        (target / NAMES[3]).write_bytes((target / NAMES[3]).read_bytes()[:40])

    with pytest.raises(KafkaError, match=r"part-3\.jar arrived damaged"):
        ensure_jars(tmp_path, cut)


def test_runs_at_the_same_time_fetch_once_and_all_get_the_whole(tmp_path: Path) -> None:
    fetches: list[Path] = []
    seen_whole: list[bool] = []
    together = threading.Barrier(8)

    def copy(target: Path) -> None:
        fetches.append(target)
        copy_five(target)

    def run() -> None:
        together.wait()
        seen_whole.append(is_whole(ensure_jars(tmp_path, copy)))

    runs = [threading.Thread(target=run) for _ in range(8)]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join()
    assert seen_whole == [True] * 8
    assert len(fetches) == 1
