"""A store is held by one process, keeps what was written, and its views never see another partition."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gregor.errors import CorruptState, FolderInUse
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Range, Store
from tests.runtime.state.conftest import Open
from tests.runtime.state.stores import FAMILIES, SMALL, Dictionary

PREFIXES = (b"\x00\x00", b"\x00\xff", b"\x01\x00", b"\xff\xfe", b"\xff\xff")
keys = st.binary(max_size=3) | st.sampled_from([b"\xff", b"\xff\xff", b"\x00"])
ROOT = Path(__file__).parents[3]


def put(store: Store, key: bytes, value: bytes, prefix: bytes = b"", sync: bool = False) -> None:
    batch = store.begin()
    store.writer(batch, prefix).put("queue", key, value)
    store.write(batch, sync=sync)


def test_nothing_happens_before_a_batch_is_written(store: Store) -> None:
    batch = store.begin()
    store.writer(batch).put("queue", b"a", b"1")
    assert store.view().get("queue", b"a") is None
    store.write(batch)
    assert store.view().get("queue", b"a") == b"1"


def test_what_was_written_is_there_after_a_restart(store: Store, open_store: Open) -> None:
    put(store, b"a", b"1", sync=True)
    put(store, b"b", b"")
    store.sync()
    assert dict(open_store("store").view().scan("queue")) == {b"a": b"1", b"b": b""}


def test_many_keys_are_got_at_once_in_their_order(store: Store) -> None:
    for prefix in (b"", b"\x01"):
        put(store, b"a", b"1", prefix)
        put(store, b"c", b"3", prefix)
        view = store.view(prefix)
        assert view.get_many("queue", [b"c", b"b", b"a", b"c"]) == [b"3", None, b"1", b"3"]
        assert view.get_many("queue", []) == []


def test_a_scan_shows_the_state_as_of_its_beginning(store: Store) -> None:
    for key in (b"a", b"b", b"c"):
        put(store, key, b"old")
    scan = store.view().scan("queue")
    assert next(scan) == (b"a", b"old")
    put(store, b"b", b"new")
    assert list(scan) == [(b"b", b"old"), (b"c", b"old")]


steps = st.lists(st.tuples(st.integers(0, len(PREFIXES) - 1), st.integers(0, 3), keys, keys), max_size=25)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=steps,
    start=keys,
    end=st.none() | keys,
    ranges=st.lists(st.tuples(keys, keys, st.integers(0, 3)), max_size=4),
)
def test_partitions_of_one_store_are_dictionaries_of_their_own(
    store: Store, steps: list[tuple[int, int, bytes, bytes]], start: bytes, end: bytes | None, ranges: list[Range]
) -> None:
    models = {prefix: Dictionary() for prefix in PREFIXES}
    batch = store.begin()
    for prefix in PREFIXES:
        store.writer(batch, prefix).delete_range("queue", b"", None)
    for where, operation, one, two in steps:
        writer, model = store.writer(batch, PREFIXES[where]), models[PREFIXES[where]]
        for target in (writer, model):
            if operation == 0:
                target.put("queue", one, two)
            elif operation == 1:
                target.delete("queue", one)
            elif operation == 2:
                target.delete_range("queue", one, None)
            elif one < two:
                target.delete_range("queue", one, two)
    store.write(batch)
    for prefix, model in models.items():
        view = store.view(prefix)
        assert list(view.scan("queue")) == list(model.scan("queue"))
        assert list(view.scan("queue", start, end)) == list(model.scan("queue", start, end))
        assert view.get("queue", start) == model.get("queue", start)
        assert view.first_of_each("queue", ranges) == model.first_of_each("queue", ranges)


def test_a_view_of_everything_deletes_to_the_very_last_key(store: Store) -> None:
    for key in (b"", b"a", b"\xff" * 300):
        put(store, key, b"v")
    batch = store.begin()
    store.writer(batch).delete_range("queue", b"a", None)
    store.write(batch)
    assert list(store.view().scan("queue")) == [(b"", b"v")]


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    held = Store(tmp_path / "held", FAMILIES, SharedMemory(SMALL))
    code = (
        "import sys; from pathlib import Path; from gregor.errors import FolderInUse\n"
        "from gregor.runtime.state.options import SharedMemory, StoreOptions; from gregor.runtime.state.store import Store\n"
        "try: Store(Path(sys.argv[1]), ('queue',), SharedMemory(StoreOptions()))\n"
        "except FolderInUse as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(held.path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (
        done.stdout
        == f"{held.path} is held by another process; stop that process, or give this one a state.folder of its own\n"
    )
    held.close()


def test_the_same_process_is_refused_too(store: Store) -> None:
    with pytest.raises(FolderInUse):
        Store(store.path, FAMILIES, SharedMemory(SMALL))


def test_a_damaged_folder_is_told_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    Store(folder, FAMILIES, SharedMemory(SMALL)).close()
    (folder / "CURRENT").write_text("MANIFEST-999999\n")
    with pytest.raises(CorruptState, match=r"damaged cannot be opened: .*; `gregor rebuild`"):
        Store(folder, FAMILIES, SharedMemory(SMALL))
