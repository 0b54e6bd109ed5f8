"""Paper 003's benchmark: the average delay of adding a link while a database of links grows.

Run: python bench/urldb.py [--start 1e6] [--end 4e6] [--step 1e5] [--plot docs/img/urldb.svg] [--quick] [--json]

Links are random: one of 10,000 random domains, and a path of random length from [a-zA-Z/-_], weighted so that it looks like one. All
engines get the same links, step by step in turns, so that whatever else the machine does hits them alike. A delay is the time of a step by
its links: from the text of the link (hashing included) until it is known durably, as far as the death of the process goes.

    gregor              a step is one batch and one checkpoint
    gregor-10k          batches of 10,000, a checkpoint each; it has a database of its own
    gregor-single       a sample, one link a batch and a checkpoint
    rocksdb             one key a link, batches of 10,000
    berkeleydb          one put a link into a hash table, written out after each step
    postgres-batched    INSERT ... ON CONFLICT DO NOTHING for 10,000 links at a time
    postgres-single     a sample, one INSERT a link and a transaction; the database is filled in bulk
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from bench import report
from bench.engines.berkeleydb import BerkeleyDb, berkeleydb
from bench.engines.blocks import Blocks
from bench.engines.interface import BulkLoading, UniquenessEngine, Urls
from bench.engines.postgres import Postgres
from bench.engines.postgres_server import PostgresServer
from bench.engines.provision import run
from bench.engines.rocksdb_keys import RocksDbKeys
from bench.measure import cpu_s
from bench.plot import Axes, lines
from gregor.url.fingerprint import fingerprints, server_hash

DOMAINS: Final = 10_000
ALPHABET: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/-_"
WEIGHTS: Final = np.array([6.0] * 26 + [1.0] * 26 + [14.0, 3.0, 3.0])
LONGEST: Final = 60
STEP: Final = 100_000
BATCH: Final = 10_000
SAMPLE: Final = 500
"""Links of a step that are added one at a time."""
PAPER_003: Final = (
    "paper 003 shows the same quantity as a figure without numbers: Berkeley DB below PostgreSQL at every size"
)


class Links(Struct, frozen=True):
    """Links as a page's reader hands them over."""

    servers: list[str]
    paths: list[str]

    def __len__(self) -> int:
        return len(self.paths)

    def part(self, begin: int, end: int) -> "Links":
        return Links(self.servers[begin:end], self.paths[begin:end])

    def hashed(self) -> Urls:
        hashes = np.fromiter((server_hash(server) for server in self.servers), np.uint64, len(self))
        return Urls(hashes, fingerprints(["http"] * len(self), self.paths))

    def as_text(self) -> Urls:
        texts = np.array(
            [f"http://{server}{path}".encode() for server, path in zip(self.servers, self.paths, strict=True)]
        )
        nothing = np.zeros(len(self), np.uint64)
        return Urls(nothing, nothing, texts)


class RandomLinks:
    """The paper's links. Paths have at least 8 characters, so that a link occurs twice about never."""

    def __init__(self, seed: int = 1, domains: int = DOMAINS) -> None:
        self._random = np.random.default_rng(seed)
        letters = np.frombuffer(ALPHABET[:26], np.uint8)
        self._domains = []
        for _ in range(domains):
            labels = self._random.integers(2, 10, self._random.integers(1, 4))
            name = ".".join(bytes(self._random.choice(letters, size)).decode() for size in labels)
            self._domains.append(f"{name}.pl")

    def take(self, count: int) -> Links:
        random = self._random
        choice = random.choice(np.frombuffer(ALPHABET, np.uint8), (count, LONGEST), p=WEIGHTS / WEIGHTS.sum())
        sizes = random.integers(8, LONGEST, count)
        rows: npt.NDArray[np.uint8] = np.where(np.arange(LONGEST) < sizes[:, None], choice, 0).astype(np.uint8)
        paths = ["/" + path.decode() for path in rows.view(f"S{LONGEST}").ravel().tolist()]
        return Links([self._domains[index] for index in random.integers(0, len(self._domains), count)], paths)


class Contender(Struct, frozen=True):
    """One line of the plot: an engine and how it is fed."""

    name: str
    engine: UniquenessEngine
    convert: Callable[[Links], Urls]
    batch: int = BATCH
    sampled: bool = False
    """Only ``SAMPLE`` links of a step are timed; the engine gets the others from the contender before it, which shares its store."""
    checkpoint_each_batch: bool = True

    def add(self, links: Links) -> tuple[float, float]:
        """Seconds, and seconds of processor, a link."""
        began, worked = time.perf_counter(), cpu_s(self.engine)
        for at in range(0, len(links), self.batch):
            self.engine.check(self.convert(links.part(at, at + self.batch)))
            if self.checkpoint_each_batch:
                self.engine.checkpoint()
        self.engine.checkpoint()
        return (time.perf_counter() - began) / len(links), (cpu_s(self.engine) - worked) / len(links)


class Point(Struct, frozen=True):
    """The average delay of one step."""

    volume: int
    """Links in the database after it."""
    delay_us: float
    cpu_us: float
    """Of the processor, a server's included: what else the machine did does not count."""


def grow(contenders: Sequence[Contender], links: RandomLinks, volumes: range) -> Iterator[dict[str, Point]]:
    """One step after the other; the points of each."""
    for volume in volumes:
        step = links.take(volumes.step)
        points = {}
        for contender in contenders:
            part = step.part(0, SAMPLE) if contender.sampled else step.part(SAMPLE, len(step))
            delay, cpu = contender.add(part)
            points[contender.name] = Point(volume + volumes.step, round(delay * 1e6, 2), round(cpu * 1e6, 2))
        yield points


def contenders(root: Path, server: PostgresServer) -> list[Contender]:
    gregor, gregor_10k, batched = Blocks(), Blocks(), Postgres("batched", server)
    rocksdb, berkeley = RocksDbKeys(), BerkeleyDb()
    engines: list[UniquenessEngine] = [gregor, gregor_10k, rocksdb, berkeley, batched]
    for number, engine in enumerate(engines):
        engine.open(root / str(number))
    return [
        Contender("gregor", gregor, Links.hashed, batch=STEP),
        Contender("gregor-10k", gregor_10k, Links.hashed),
        Contender("gregor-single", gregor, Links.hashed, batch=1, sampled=True),
        Contender("rocksdb", rocksdb, Links.hashed),
        Contender("berkeleydb", berkeley, Links.as_text, checkpoint_each_batch=False),
        Contender("postgres-batched", batched, Links.as_text),
        Contender("postgres-single", batched.one_at_a_time(), Links.as_text, sampled=True),
    ]


def fill(rivals: Sequence[Contender], links: RandomLinks, count: int) -> None:
    """The links that are there at the start; not timed."""
    parts = [links.take(min(STEP, count - at)) for at in range(0, count, STEP)]
    for rival in rivals:
        if rival.sampled:
            continue
        if isinstance(rival.engine, BulkLoading):
            rival.engine.load(rival.convert(part) for part in parts)
        else:
            for part in parts:
                rival.add(part)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = report.parser(__doc__)
    parser.add_argument("--start", type=float, help="links in the database at first (1e6)")
    parser.add_argument("--end", type=float, help="links in it at last (4e6)")
    parser.add_argument("--step", type=float, help="links by which an average is taken (1e5)")
    parser.add_argument("--plot", type=Path, help="an SVG file to draw")
    parser.add_argument("--folder", type=Path, help="where databases are made; default: the system's temporary folder")
    given = parser.parse_args(arguments)
    start, end, step = (1e5, 2e5, 2e4) if given.quick else (1e6, 4e6, 1e5)
    volumes = range(int(given.start or start), int(given.end or end), int(given.step or step))
    berkeleydb()
    links = RandomLinks()
    root = Path(tempfile.mkdtemp(dir=given.folder))
    server = PostgresServer()
    print(report.machine("numpy", "rocksdict", "berkeleydb", "psycopg") + f", PostgreSQL {server.version}")
    try:
        rivals = contenders(root, server)
        fill(rivals, links, volumes.start)
        names = [rival.name for rival in rivals]
        print(
            "microseconds a link / of them processor\n" + f"{'links':>12}" + "".join(f"{name:>18}" for name in names),
            flush=True,
        )
        measured: dict[str, list[Point]] = {name: [] for name in names}
        for points in grow(rivals, links, volumes):
            cells = (f"{points[name].delay_us:,.1f} / {points[name].cpu_us:,.1f}" for name in names)
            print(f"{points[names[0]].volume:>12,}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
            for name, point in points.items():
                measured[name].append(point)
    finally:
        server.stop()
        shutil.rmtree(root, ignore_errors=True)
    print(PAPER_003)
    conclude(measured, given.plot, given.json)


def conclude(measured: dict[str, list[Point]], plot: Path | None, as_json: bool) -> None:
    """The plot, and how much slower each is than gregor in batches over the whole run."""
    if plot is not None:
        x = "links in the database (millions)"
        for file, y, which in ((plot, "µs a link", "delay_us"), (beside(plot), "µs of processor a link", "cpu_us")):
            series = {name: [(p.volume / 1e6, getattr(p, which)) for p in points] for name, points in measured.items()}
            lines(file, Axes(title="Average delay of adding a link", x=x, y=y, scale="log"), series)
    delay = {name: mean(point.delay_us for point in points) for name, points in measured.items()}
    cpu = {name: mean(point.cpu_us for point in points) for name, points in measured.items()}
    figures: dict[str, object] = {}
    for name in measured:
        key = name.replace("-", "_")
        figures[f"delay_us_{key}"], figures[f"cpu_us_{key}"] = round(delay[name], 2), round(cpu[name], 2)
        if name != "gregor":
            figures[f"ratio_{key}"] = round(delay[name] / delay["gregor"], 1)
    figures["points"] = {name: [[p.volume, p.delay_us, p.cpu_us] for p in points] for name, points in measured.items()}
    report.finish(figures, as_json)


def beside(plot: Path) -> Path:
    """The plot by processor time."""
    return plot.with_name(f"{plot.stem}-cpu{plot.suffix}")


if __name__ == "__main__":
    run(main)
