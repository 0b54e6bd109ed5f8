"""How fast a store is restored from its changelog: packed fingerprints of 12 bytes in blocks of 4 KB.

Run: python -m bench.restore [millions of fingerprints]

Three logs of the same state: one snapshot cycle alone, deltas alone (the first fill of a store), and a truncated log as a long crawl
leaves it, in which pieces and deltas of many small commits take turns. For comparison the same entries are put straight into RocksDB.
"""

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from random import Random

from gregor.state.options import SharedMemory, StoreOptions
from gregor.state.packed import Mutation, apply_deltas, pack_delta, pack_piece
from gregor.state.replay import Identity, Replica
from gregor.state.snapshot import Cursor, next_pieces
from gregor.state.store import StateReader, StateSpec, StateWriter, Store
from schemas.changelog import Checkpoint, encode_checkpoint

FAMILIES = ("seen",)
FINGERPRINT = 12
BLOCK = 4096 // FINGERPRINT
BLOCKS_PER_COMMIT = 500
SLICE = 1000
IDENTITY = Identity(cluster="bench", topic="bench", crawl="bench", partition=0)

Log = list[tuple[int, bytes]]


def apply(_: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    apply_deltas(FAMILIES, deltas, writer)


SPEC = StateSpec(FAMILIES, apply)


def blocks(count: int, seed: int) -> Iterator[tuple[bytes, bytes]]:
    random = Random(seed)
    for number in range(count):
        yield (number << 32).to_bytes(8, "big"), random.randbytes(BLOCK * FINGERPRINT)


def opened(folder: Path) -> Store:
    return Store(folder, FAMILIES, SharedMemory(StoreOptions()))


def commit(replica: Replica, entries: Sequence[tuple[bytes, bytes]], log: Log) -> None:
    deltas = [Mutation(b"server", pack_delta([(0, key, value)])) for key, value in entries]
    records = replica.prepare(deltas, Checkpoint(sequence=0, positions={"discovered": replica.applied}))
    first = replica.applied
    log += [(first + number, value) for number, (_, value) in enumerate(records)]
    replica.apply_live(records, first + len(records))


def delta_log(folder: Path, count: int) -> Log:
    """The store's first fill, without its snapshot pieces."""
    store = opened(folder)
    replica = Replica.open(store, SPEC, IDENTITY)
    log: Log = []
    every = list(blocks(count, 1))
    for at in range(0, count, BLOCKS_PER_COMMIT):
        commit(replica, every[at : at + BLOCKS_PER_COMMIT], log)
    store.close()
    return [record for record in log if record[1][:1] != b"S"]


def rolling_log(folder: Path, count: int) -> Log:
    """Blocks rewritten at random until a cycle has passed, cut where the cycle began."""
    store = opened(folder)
    replica = Replica.open(store, SPEC, IDENTITY)
    replica.wipe()
    log: Log = []
    random = Random(2)
    commit(replica, list(blocks(count, 1)), log)
    cycles = 0
    while cycles < 2:
        entries = [
            ((random.randrange(count) << 32).to_bytes(8, "big"), random.randbytes(BLOCK * FINGERPRINT))
            for _ in range(BLOCKS_PER_COMMIT)
        ]
        commit(replica, entries, log)
        before = replica.truncate_before()
        if before is not None:
            cycles += 1
            log = [record for record in log if record[0] >= before]
            replica.truncated(before)
    store.close()
    return log


def snapshot_log(folder: Path) -> Log:
    store = opened(folder)
    pieces = next_pieces(store.view(), FAMILIES, Cursor(), 1 << 60).pieces
    store.close()
    values = [*(pack_piece(piece) for piece in pieces), encode_checkpoint(Checkpoint(sequence=1, positions={}))]
    return list(enumerate(values))


def restore(folder: Path, log: Log) -> float:
    store = opened(folder)
    replica = Replica.open(store, SPEC, IDENTITY)
    started = time.perf_counter()
    for at in range(0, len(log), SLICE):
        part = log[at : at + SLICE]
        replica.replay(part, part[-1][0] + 1)
    taken = time.perf_counter() - started
    store.close()
    return taken


def straight(folder: Path, count: int) -> float:
    every = list(blocks(count, 1))
    store = opened(folder)
    started = time.perf_counter()
    for at in range(0, count, SLICE):
        batch = store.begin()
        writer = store.writer(batch)
        for key, value in every[at : at + SLICE]:
            writer.put("seen", key, value)
        store.write(batch)
    taken = time.perf_counter() - started
    store.close()
    return taken


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    count = max(1, int(millions * 1e6) // BLOCK)
    stored = count * BLOCK
    folder = Path(tempfile.mkdtemp(prefix="gregor-bench-"))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, rocksdict {version('rocksdict')}")
    print(f"{stored:,} fingerprints in {count:,} blocks, {stored * FINGERPRINT / 1e6:.0f} MB")
    print(f"{'log':<34}{'MB':>8}{'seconds':>10}{'fingerprints/s':>18}{'MB/s':>8}{'of straight':>13}")
    try:
        base = straight(folder / "straight", count)
        logs = {
            "deltas alone": delta_log(folder / "deltas", count),
            "one snapshot cycle alone": snapshot_log(folder / "deltas"),
            "truncated log of a long crawl": rolling_log(folder / "rolling", count),
        }
        rows = [("straight into RocksDB", stored * FINGERPRINT, base)]
        for name, log in logs.items():
            rows.append((name, sum(len(value) for _, value in log), restore(folder / f"to {name}", log)))
        for name, size, taken in rows:
            print(
                f"{name:<34}{size / 1e6:>8.0f}{taken:>10.2f}{stored / taken:>18,.0f}{size / taken / 1e6:>8.0f}"
                f"{(size / taken) / (stored * FINGERPRINT / base):>13.2f}"
            )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
