"""Pages a second from `pages` on the embedded transport to WARC files on the disk, committed and indexed, in one process; beside warcio
writing the same records to a file, without a log, commits or indexes.

Both write request and response of each page with their digests. `ratio_warcio` compares all of gregor's work, indexes included, with
warcio's writing alone, which is its level of compression (9) and Python's zlib; `ratio_warcio_same_level` has warcio at gregor's level.
"""

import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from msgspec import Struct
from warcio import warcwriter
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from bench.extractor import synthetic
from bench.report import finish, machine, options
from gregor.config import Config
from gregor.config.sections import ArchiveSection
from gregor.outputs.archive.index import build_index
from gregor.outputs.archive.reader import open_archive
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.pages import PageFacts
from workers.archiver.stage import SPEC, ArchiverStage

PARTITIONS = 8
SERVER = "site.example"
REQUEST = (
    ("Host", SERVER),
    ("User-Agent", "gregor (+https://example.com/crawler)"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
)
RESPONSE = (
    ("Date", "Mon, 16 Nov 2026 15:41:00 GMT"),
    ("Server", "nginx/1.22.1"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT"),
    ("ETag", '"5e5b-5227c1c7d9c00"'),
    ("Vary", "Accept-Encoding"),
)

Pages = Sequence[tuple[PageFacts, bytes]]


class Spent(Struct, frozen=True):
    """Seconds of the clock and of the processor."""

    wall: float
    cpu: float


class Run(Struct, frozen=True):
    write: Spent
    index: Spent
    size: int
    """Bytes of the files."""


def pages(count: int) -> Pages:
    """20 KB each, as bench/extractor.py makes them."""
    made = []
    for number, one in enumerate(synthetic(count)):
        facts = PageFacts(
            server=SERVER,
            path=one.path,
            lease=f"3-{number}",
            status=200,
            fetched_ms=1_794_844_543_568 + number,
            address="192.0.2.7",
            reason="OK",
            request_headers=REQUEST,
            response_headers=(*RESPONSE, ("Content-Length", str(len(one.body)))),
            body_bytes=len(one.body),
            digest=f"{number:032x}",
            depth=3,
        )
        made.append((facts, one.body))
    return made


def spent(work: Callable[[], Any]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def through_gregor(made: Pages) -> Run:
    """Log, stage, disk, commit; then both indexes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = EmbeddedSettings(crawl="bench", partitions=PARTITIONS)
        transport = EmbeddedTransport.at(folder / "log", settings, SharedMemory(StoreOptions()), (SPEC,))
        for start in range(0, len(made), 500):
            transport.append(
                [
                    Output("pages", number % PARTITIONS, SERVER.encode(), body, encode(facts))
                    for number, (facts, body) in enumerate(made[start : start + 500])
                ]
            )
        config = Config()
        session = transport.open(SPEC)
        stage = ArchiverStage(config, folder / "archive", session.member)
        loop = StageLoop(stage, session, config.checkpoint, notes=stage.note)
        ends = {partition: end for partition, (_, end) in transport.ends("pages").items()}

        def write() -> None:
            while not loop.commits or any(
                at.offset < ends[where.partition] for where, at in transport.committed(SPEC.name, SPEC.inputs).items()
            ):
                loop.step(0.05)

        written = spent(write)
        indexed = spent(lambda: build_index(open_archive(folder / "archive")))
        size = sum(path.stat().st_size for path in (folder / "archive").glob("*.warc.gz"))
        stage.close()
        transport.close()
    return Run(written, indexed, size)


def through_warcio(made: Pages, level: int) -> Run:
    """The same requests and responses by warcio's writer, as its documentation shows it."""
    with tempfile.TemporaryDirectory() as name, (Path(name) / "warcio.warc.gz").open("wb") as file:

        def write() -> None:
            writer = _writer(file, level)
            writer.write_record(writer.create_warcinfo_record("warcio.warc.gz", {"software": "warcio"}))
            for facts, body in made:
                _write_page(writer, facts, body)
            file.flush()

        written = spent(write)
        return Run(written, Spent(0, 0), file.tell())


def _writer(file: Any, level: int) -> WARCWriter:
    """warcio has no setting for the level; its compressor is made by a class that has none either."""

    class Gzip(warcwriter.GzippingWrapper):  # type: ignore[misc]
        def __init__(self, out: Any) -> None:
            super().__init__(out)
            self.compressor = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS + 16)

    warcwriter.GzippingWrapper = Gzip if level != 9 else _ORIGINAL
    return WARCWriter(file, gzip=True, warc_version="1.1")


_ORIGINAL = warcwriter.GzippingWrapper


def _write_page(writer: WARCWriter, facts: PageFacts, body: bytes) -> None:
    fields = {
        "WARC-Date": "2026-11-16T15:41:00.123Z",
        "WARC-IP-Address": facts.address,
        "X-Crawl-Position": "3/1234",
        "X-Crawl-Facts": encode(facts).decode(),
    }
    answered = StatusAndHeaders("200 OK", list(facts.response_headers), protocol="HTTP/1.1")
    response = writer.create_warc_record(
        facts.url, "response", payload=BytesIO(body), length=len(body), http_headers=answered, warc_headers_dict=fields
    )
    asked = StatusAndHeaders(f"GET {facts.path} HTTP/1.1", list(facts.request_headers), is_http_request=True)
    request = writer.create_warc_record(facts.url, "request", http_headers=asked)
    writer.write_request_response_pair(request, response)


def best(runs: Sequence[Run], of: Callable[[Run], float]) -> float:
    """The machine is shared: the fastest of several runs says the most."""
    return min(of(run) for run in runs)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments=arguments)
    count, times = (2000, 3) if chosen.quick else (10_000, 3)
    made = pages(count)
    raw = sum(len(body) for _, body in made)
    ours: list[Run] = []
    theirs: list[Run] = []
    same: list[Run] = []
    level = ArchiveSection().level
    for _ in range(times):
        # In turn, so that what else the machine does falls on all.
        ours.append(through_gregor(made))
        theirs.append(through_warcio(made, 9))
        same.append(through_warcio(made, level))
    wall = best(ours, lambda run: run.write.wall + run.index.wall)
    cpu = best(ours, lambda run: run.write.cpu + run.index.cpu)
    their_wall, their_cpu = best(theirs, lambda run: run.write.wall), best(theirs, lambda run: run.write.cpu)
    print(machine("zlib-ng", "warcio", "pyarrow"))
    print(
        f"{count} pages of {raw // count} bytes; gregor: zlib-ng level {level}, warcio: zlib {zlib.ZLIB_RUNTIME_VERSION} level 9"
    )
    finish(
        {
            "pages_per_s": round(count / wall),
            "mb_per_s": round(raw / wall / 1e6, 1),
            "ratio_warcio": round(their_wall / wall, 2),
            "ratio_warcio_cpu": round(their_cpu / cpu, 2),
            "ratio_warcio_same_level": round(best(same, lambda run: run.write.wall) / wall, 2),
            "pages_per_cpu_s": round(count / cpu),
            "warcio_pages_per_s": round(count / their_wall),
            "written_pages_per_s": round(count / best(ours, lambda run: run.write.wall)),
            "indexed_pages_per_s": round(count / best(ours, lambda run: run.index.wall)),
            "compression_level": level,
            "compression_ratio": round(raw / ours[0].size, 2),
            "warcio_compression_ratio": round(raw / theirs[0].size, 2),
        },
        chosen.json,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
