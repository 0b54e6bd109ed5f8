"""Every engine of the benchmarks gives a Python set's answers."""

import atexit
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bench.engines import provision
from bench.engines.berkeleydb import BerkeleyDb
from bench.engines.blocks import Blocks
from bench.engines.drum import Drum
from bench.engines.files import url_hashes
from bench.engines.interface import BulkLoading, UniquenessEngine, Urls
from bench.engines.postgres import Postgres
from bench.engines.postgres_server import PostgresServer
from bench.engines.python_set import PythonSet
from bench.engines.rocksdb_keys import RocksDbKeys
from bench.engines.text import URL_BYTES, texts_of, with_texts
from bench.measure import file_bytes
from bench.workload import Web
from gregor.runtime.state.options import StoreOptions


@cache
def server() -> PostgresServer:
    """One for all tests, which dies with them."""
    started = PostgresServer()
    atexit.register(started.stop)
    return started


ENGINES: dict[str, Callable[[], UniquenessEngine]] = {
    "gregor": Blocks,
    "drum": Drum,
    "rocksdb": RocksDbKeys,
    "berkeleydb": BerkeleyDb,
    "berkeleydb-btree": lambda: BerkeleyDb("btree"),
    "postgres-single": lambda: Postgres("single", server()),
    "postgres-batched": lambda: Postgres("batched", server()),
    "set": PythonSet,
}
DURABLE = ("gregor", "drum", "rocksdb", "berkeleydb", "berkeleydb-btree")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UniquenessEngine]:
    made = ENGINES[request.param]()
    made.open(tmp_path / "store")
    yield made
    made.close()


def urls(seed: int, size: int, servers: int = 50, paths: int = 100) -> Urls:
    """Random URLs of a small web, so that repeats within and between batches are many."""
    random = np.random.default_rng(seed)
    spread = np.uint64(0x9E3779B97F4A7C15)
    return Urls(
        random.integers(1, servers, size).astype(np.uint64) * spread,
        random.integers(1, paths, size).astype(np.uint64) * spread,
    )


def expected(known: set[int], batch: Urls) -> list[bool]:
    """What a set says of a batch, URL by URL."""
    answers = []
    for key in url_hashes(batch.server_hashes, batch.fingerprints).tolist():
        answers.append(key not in known)
        known.add(key)
    return answers


def check(engine: UniquenessEngine, batch: Urls) -> list[bool]:
    answers: list[bool] = engine.check(batch).tolist()
    engine.checkpoint()
    return answers


def test_batches_of_all_sizes_are_answered_like_a_set_would(engine: UniquenessEngine) -> None:
    known: set[int] = set()
    for seed, size in enumerate((300, 1, 0, 2_000, 700, 5)):
        batch = urls(seed, size)
        assert check(engine, batch) == expected(known, batch)


def test_a_url_that_is_twice_in_its_batch_is_new_once(engine: UniquenessEngine) -> None:
    one = urls(1, 1)
    twice = Urls(np.repeat(one.server_hashes, 2), np.repeat(one.fingerprints, 2))
    assert check(engine, twice) == [True, False]


def test_what_was_loaded_in_bulk_is_known(engine: UniquenessEngine) -> None:
    if not isinstance(engine, BulkLoading):
        assert engine.name in ("gregor", "set")
        return
    everything = urls(7, 4_000)
    keys, first = np.unique(url_hashes(everything.server_hashes, everything.fingerprints), return_index=True)
    stored = Urls(everything.server_hashes[first], everything.fingerprints[first])
    half = len(first) // 2
    engine.load(
        Urls(stored.server_hashes[part], stored.fingerprints[part]) for part in (slice(0, half), slice(half, None))
    )
    known = set(keys.tolist())
    batch = urls(8, 3_000, servers=80)
    assert check(engine, batch) == expected(known, batch)
    assert check(engine, batch) == [False] * len(batch)


@pytest.mark.parametrize("name", DURABLE)
def test_what_a_checkpoint_held_is_known_after_reopening(name: str, tmp_path: Path) -> None:
    known: set[int] = set()
    for seed in range(4):
        engine = ENGINES[name]()
        engine.open(tmp_path)
        batch = urls(seed, 500)
        assert check(engine, batch) == expected(known, batch)
        engine.close()


@pytest.mark.parametrize("name", ["gregor", "drum", "rocksdb", "berkeleydb", "postgres-batched"])
def test_bytes_are_counted_and_never_fall(name: str, tmp_path: Path) -> None:
    engine = ENGINES[name]()
    engine.open(tmp_path)
    before = engine.stats()
    check(engine, urls(1, 2_000))
    check(engine, urls(2, 2_000))
    after = engine.stats()
    assert after.written > before.written
    assert after.read >= before.read
    engine.close()


def test_a_cycle_of_drum_moves_the_bytes_of_its_cost_model(tmp_path: Path) -> None:
    drum = Drum()
    drum.open(tmp_path)
    first, second = urls(1, 5_000), urls(2, 3_000)
    stored = sum(check(drum, first))
    before = drum.stats()
    new = sum(check(drum, second))
    moved = drum.stats()
    n, b, h = len(second), URL_BYTES, 8
    assert moved.read - before.read == n * (b + h) + stored * h
    assert moved.written - before.written == n * (b + h) + (stored + new) * h + new * b


def test_texts_are_as_long_as_the_papers_and_tell_urls_apart() -> None:
    batch = urls(3, 1_000)
    texts = texts_of(batch)
    assert set(map(len, texts.tolist())) == {URL_BYTES}
    assert len(np.unique(texts)) == len(np.unique(url_hashes(batch.server_hashes, batch.fingerprints)))
    assert with_texts(with_texts(batch)).texts is not None
    assert texts[0].startswith(b"http://")


def test_what_cannot_be_had_is_asked_for_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(provision, "can_install", lambda: False)
    with pytest.raises(SystemExit) as ended:
        provision.run(lambda: provision.need("a database", ("some-package",), lambda: None))
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "expected a database, found none; install it (on Debian: apt-get install some-package)\n"
    )


def test_the_postgres_server_is_nobody_elses_and_leaves_nothing_behind() -> None:
    started = PostgresServer()
    status = Path(f"/proc/{started.pid}/status").read_text()
    owner = int(status.partition("Uid:")[2].split()[0])
    assert owner != 0
    assert started.folder.stat().st_mode & 0o077 == 0
    started.stop()
    assert not started.folder.exists()
    assert not Path(f"/proc/{started.pid}").exists()


def test_a_lookup_of_one_key_a_url_does_not_read_filters_that_exceed_the_cache_again(tmp_path: Path) -> None:
    web = Web(400_000)
    engine = RocksDbKeys(StoreOptions(block_cache_bytes=64 << 10, memtable_bytes=1 << 20, write_buffer_bytes=1 << 20))
    engine.open(tmp_path)
    engine.load(web.fill(50_000))
    batch = web.batch(2_000)
    before = file_bytes(engine).read
    engine.check(batch)
    per_url = (file_bytes(engine).read - before) / len(batch)
    engine.close()
    assert 0 < per_url < 5_000
