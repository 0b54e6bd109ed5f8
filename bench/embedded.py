"""Records a second through the embedded transport: consumed and transactionally produced in batches, beside RocksDB's bare puts."""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from gregor.state.options import SharedMemory, StoreOptions
from gregor.state.store import Store
from gregor.transport.embedded import EmbeddedTransport
from gregor.transport.embedded.settings import EmbeddedSettings
from gregor.transport.port import Batch, Commit, Mark, Output, Position, Session, StageSpec, TopicPartition

PARTITIONS = 8
STAGE = StageSpec(name="extractor", inputs=("pages",), outputs=("discovered",))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--batch", type=int, default=2000)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where the databases are made; default: the temporary folder"
    )
    options = parser.parse_args(arguments)
    records = 200_000 if options.quick else 1_000_000
    body = os.urandom(512) + bytes(480)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        plain = plain_puts(Path(folder) / "plain", records, body)
        warm, behind = transactional(Path(folder) / "embedded", records, body, options.batch)
    figures = {
        "embedded_records_per_s": round(warm),
        "embedded_catching_up_records_per_s": round(behind),
        "rocksdb_puts_per_s": round(plain),
        "ratio_to_puts": round(warm / plain, 2),
    }
    if options.json:
        print(json.dumps(figures))
        return
    print(
        f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, rocksdict {version('rocksdict')}"
    )
    for name, figure in figures.items():
        print(f"{name:36} {figure:>12,}")


def plain_puts(folder: Path, records: int, body: bytes) -> float:
    """One put a record, 2,000 a batch, no log, no groups: what RocksDB itself would allow."""
    store = Store(folder, ("plain",), SharedMemory(StoreOptions()))
    began = time.perf_counter()
    for first in range(0, records, 2000):
        batch = store.begin()
        writer = store.writer(batch)
        for number in range(first, first + 2000):
            writer.put("plain", number.to_bytes(8, "big"), body)
        store.write(batch)
    took = time.perf_counter() - began
    store.close()
    return records / took


def transactional(folder: Path, records: int, body: bytes, batch: int) -> tuple[float, float]:
    """Records a second of a reader that keeps up, and of one that reads everything from the database."""
    transport = EmbeddedTransport.at(
        folder, EmbeddedSettings(crawl="bench", partitions=PARTITIONS), SharedMemory(StoreOptions()), (STAGE,)
    )
    session = transport.open(STAGE)
    session.poll(1, 1, 0.0)
    positions = {TopicPartition("pages", partition): Position(0) for partition in range(PARTITIONS)}
    spent = done = 0.0
    while done < records:
        transport.append(fill(batch * 4, body))
        began = time.perf_counter()
        done += drain(session, batch, positions)
        spent += time.perf_counter() - began
    for _ in range(records // 10_000):
        transport.append(fill(10_000, body))
    began = time.perf_counter()
    late = drain(session, batch, positions)
    behind = late / (time.perf_counter() - began)
    transport.close()
    return done / spent, behind


def fill(count: int, body: bytes) -> list[Output]:
    return [Output("pages", n % PARTITIONS, b"server.example", body) for n in range(count)]


def drain(session: Session, batch: int, positions: dict[TopicPartition, Position]) -> int:
    """Reads to the end, and commits one output for each record."""
    done = 0
    while True:
        event = session.poll(batch, 16 << 20, 0.0)
        if not isinstance(event, Batch):
            continue
        if not event.records:
            return done
        for at, offset in event.positions.items():
            positions[at] = Position(offset)
        outputs = [Output("discovered", r.partition, r.key or b"", r.value or b"", r.header) for r in event.records]
        session.commit(Commit(epoch=event.epoch, outputs=outputs, positions=positions, mark=Mark(now_ms=0)))
        done += len(event.records)


if __name__ == "__main__":
    main(sys.argv[1:])
