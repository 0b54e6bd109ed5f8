"""The backend ``archive``: the contract, WARC files of others and our own, and that no socket is ever opened."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gregor.config.sections import EmulateSection
from gregor.errors import UsageError
from gregor.offline.generated import GeneratedWeb, WebShape
from gregor.url.canonical import CanonicalRules
from tests.hostile.servers import response
from tests.workers.fetcher.backends.client import Client, caps, opened
from tests.workers.fetcher.backends.exchange_contract import Answering, ExchangeContract
from tests.workers.fetcher.backends.warcs import Answered, parsed_warc, write_warc
from workers.fetcher.backends.archive.warc_file import records

HELLO = response(b"hello", "Content-Type: text/plain")


@contextlib.contextmanager
def web(path: Path | str, **options: Any) -> Iterator[Client]:
    emulate = EmulateSection(web=str(path), **options.pop("emulate", {}))
    with opened("archive", emulate=emulate, **options) as client:
        yield client


class TestArchive(ExchangeContract):
    name = "archive"

    @pytest.fixture(autouse=True)
    def _its_folder(self, tmp_path: Path) -> None:
        self._folder = tmp_path

    @contextlib.contextmanager
    def answering(self, answer: bytes) -> Iterator[Answering]:
        write_warc(self._folder / "one.warc.gz", [Answered("http://192.0.2.1/", answer)])
        with web(self._folder) as client:
            yield Answering(client, "192.0.2.1")

    def test_an_address_is_never_known_nor_met(self) -> None:
        with self.answering(HELLO) as (client, server):
            assert client.backend.address_of(server) == ""
            assert client.get(server).address == ""


def test_what_is_not_there_is_a_404_that_says_so(tmp_path: Path) -> None:
    write_warc(tmp_path / "one.warc.gz", [Answered("http://a.example/", HELLO)])
    with web(tmp_path) as client:
        missing = client.get("a.example", "/b")
        assert client.get("a.example", "/", scheme="https").status == 404, "another scheme is another URL"
    assert (missing.outcome, missing.status, missing.reason) == ("client-error", 404, "Not in the archive")
    assert missing.detail == f"not in {tmp_path}"
    assert b"http://a.example/b is not in" in missing.body


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_a_file_is_an_archive_compressed_or_not(tmp_path: Path, name: str) -> None:
    answers = [Answered(f"http://a.example/{number}", response(b"%d" % number)) for number in range(20)]
    path = write_warc(tmp_path / name, answers, compressed=name.endswith("gz"))
    with web(path) as client:
        assert [client.get("a.example", f"/{number}").body for number in range(20)] == [
            b"%d" % number for number in range(20)
        ]


def test_a_file_that_warcio_wrote_is_read(tmp_path: Path) -> None:
    headers = [("Content-Type", "text/html"), ("X-Crawl-Own", "theirs")]
    parsed_warc(tmp_path / "theirs.warc.gz", [("http://a.example", "203 Fine", headers, b"<p>")])
    with web(tmp_path) as client:
        found = client.get("a.example")
    assert (found.status, found.reason, found.body) == (203, "Fine", b"<p>")
    assert found.response_headers == tuple(headers), "what is not ours is not renamed"


def test_urls_are_told_apart_as_the_crawl_tells_them_apart(tmp_path: Path) -> None:
    answers = [Answered("<HTTP://A.example:80>", HELLO), Answered("http://a.example/x?b=1&a=2", response(b"sorted"))]
    write_warc(tmp_path / "one.warc.gz", answers)
    with web(tmp_path, rules=CanonicalRules(sort_query=True)) as client:
        assert client.get("a.example", "/").body == b"hello"
        assert client.get("a.example", "/x?a=2&b=1").body == b"sorted"


def test_of_several_answers_the_last_one_counts(tmp_path: Path) -> None:
    days = [3, 1, 4, 2]
    for day in days:
        answer = Answered("http://a.example/", response(b"day %d" % day), f"2026-01-0{day}T00:00:00Z")
        write_warc(tmp_path / f"{day}.warc.gz", [answer])
    with web(tmp_path) as client:
        assert client.get("a.example").body == b"day 4"


def test_a_revisit_has_the_body_that_it_refers_to(tmp_path: Path) -> None:
    fields = (
        ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
        ("WARC-Refers-To-Target-URI", "http://a.example/original"),
    )
    answers = [
        Answered("http://a.example/original", HELLO),
        Answered("http://a.example/copy", b"HTTP/1.1 200 OK\r\nX-Own: 1\r\n\r\n", fields=fields, kind="revisit"),
        Answered("http://a.example/lost", b"HTTP/1.1 200 OK\r\n\r\n", kind="revisit"),
        Answered("http://a.example/original", b"HTTP/1.1 304 \r\n\r\n", date="2027-01-01T00:00:00Z", kind="revisit"),
    ]
    write_warc(tmp_path / "one.warc.gz", answers)
    with web(tmp_path) as client:
        copy = client.get("a.example", "/copy")
        assert (copy.status, copy.body, copy.header("x-own")) == (200, b"hello", "1")
        assert client.get("a.example", "/lost").status == 404
        assert client.get("a.example", "/original").body == b"hello", "a whole answer counts more than a revisit"


def test_an_index_is_used_while_it_is_as_new_as_the_file(tmp_path: Path) -> None:
    answers = [Answered("http://a.example/", HELLO), Answered("http://a.example/new", HELLO)]
    warc = write_warc(tmp_path / "archive" / "one.warc.gz", answers)
    first = [record.offset for record in records(warc, warc.stat().st_size)][1]
    index = tmp_path / "index.cdxj"
    row = f'{{"url": "http://a.example/", "filename": "x/one.warc.gz", "offset": "{first}", "mime": "text/html"}}'
    index.write_text(f"!OpenWayback-CDXJ 1.0\ncom,example,a)/ 20260102030405 {row}\nno line\n")
    with web(tmp_path) as client:
        assert client.get("a.example").body == b"hello"
        assert client.get("a.example", "/new").status == 404, "the index does not know it"
    os.utime(index, (1, 1))
    with web(tmp_path) as client:
        assert client.get("a.example", "/new").body == b"hello", "the file is newer"


def test_a_damaged_file_is_read_up_to_the_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_warc(tmp_path / "one.warc.gz", [Answered(f"http://a.example/{one}", HELLO) for one in range(3)])
    for cut in (path.read_bytes()[:-20], path.read_bytes() + b"no record", path.read_bytes() + bytes(100)):
        path.write_bytes(cut)
        with caplog.at_level(logging.WARNING), web(tmp_path) as client:
            assert client.get("a.example", "/0").body == b"hello"
        assert "is read up to there" in caplog.text
        caplog.clear()


@pytest.mark.parametrize(
    "index", ["{}", "a b {}", 'a b {"url": 1}', 'a b {"url": "x", "filename": "one.warc.gz", "offset": "x"}']
)
def test_an_index_that_is_none_does_no_harm(tmp_path: Path, index: str) -> None:
    write_warc(tmp_path / "one.warc.gz", [Answered("http://a.example/", HELLO)])
    (tmp_path / "bad.cdxj").write_text(index)
    with web(tmp_path) as client:
        assert client.get("a.example").body == b"hello"


def test_an_index_that_points_elsewhere_answers_nothing_wrong(tmp_path: Path) -> None:
    write_warc(tmp_path / "one.warc.gz", [Answered("http://a.example/", HELLO)])
    rows = [
        f'com,example,a)/{number} 20260102030405 {{"url": "http://a.example/{number}", "filename": "one.warc.gz", "offset": {offset}}}'
        for number, offset in enumerate((0, 7, 10**9))
    ]
    (tmp_path / "wrong.cdxj").write_text("\n".join(rows) + "\n")
    with web(tmp_path) as client:
        assert [client.get("a.example", f"/{number}").status for number in range(3)] == [404, 404, 404]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (b"", 404),
        (b"no http at all", 404),
        (b"HTTP/1.1 999 What\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200\r\n\r\nx", "ok"),
        (b"HTTP/2 200 OK\nX: 1\n\nx", "ok"),
        (b"HTTP/1.1 200 OK\r\nno header\r\n: \r\n\r\nx", "ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot chunked", "ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nx", "ok"),
    ],
)
def test_whatever_stands_in_a_record_is_answered(tmp_path: Path, answer: bytes, outcome: str | int) -> None:
    write_warc(tmp_path / "one.warc.gz", [Answered("http://a.example/", answer)])
    with web(tmp_path) as client:
        found = client.get("a.example")
    assert outcome in (found.outcome, found.status)


def test_several_records_in_one_member_are_refused_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import gzip

    plain = write_warc(tmp_path / "plain", [Answered("http://a.example/", HELLO)], compressed=False)
    (tmp_path / "one.warc.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with pytest.raises(UsageError, match="expected answers in the WARC files"), web(tmp_path):
        pass
    assert "warcio recompress" in caplog.text


def test_nothing_to_answer_from_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path(__file__)):
        with pytest.raises(UsageError, match="expected"), web(path):
            pass


def test_made_up_pages_are_answered_by_the_same_backend() -> None:
    made = GeneratedWeb(WebShape(pages=500, sites=20, seed=3))
    with web("generated:500,20,3") as client:
        found = client.get("s3.example", "/p1", caps=caps(body_bytes=4_000_000))
        assert client.get("s3.example", "/robots.txt").status == 404
    assert (found.status, found.body) == (200, made.answer("s3.example", "/p1"))
    assert found.header("content-type") == "text/html; charset=utf-8"


def test_latency_is_waited_for_and_counts_towards_the_caps(tmp_path: Path) -> None:
    write_warc(tmp_path / "one.warc.gz", [Answered("http://a.example/", HELLO)])
    with web(tmp_path, emulate={"latency_ms": 50.0}) as client:
        begun = time.monotonic()
        found = client.get("a.example")
        assert time.monotonic() - begun >= 0.05
        late = client.get("a.example", caps=caps(first_byte_s=0.01))
    assert found.first_byte_ms >= 50
    assert (late.outcome, late.status, late.detail) == ("timeout", 0, "the time for the first byte was over")


WITHOUT_SOCKETS = """
import os, sys

def refuse(event, _):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        print(event, flush=True)
        os._exit(99)

sys.addaudithook(refuse)
from gregor import cli
code = cli.run(sys.argv[1:])
print("loaded:", [name for name in sys.modules if name.startswith(("workers.fetcher.backends.aiohttp", "workers.fetcher.resolver"))])
sys.exit(code)
"""


def test_a_whole_crawl_makes_no_connection_and_looks_nothing_up(tmp_path: Path) -> None:
    """Every connection, look-up and listening socket of Python is an audit event; what would connect is not even loaded."""
    write_warc(tmp_path / "one.warc.gz", [Answered("http://a.example/", HELLO)])
    command = [sys.executable, "-c", WITHOUT_SOCKETS, "crawl", "--web", str(tmp_path), "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [*command, "--workers", "0", "http://a.example/"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "1 URLs of 1 servers fetched" in done.stdout
    assert done.stdout.endswith("loaded: []\n"), done.stdout
