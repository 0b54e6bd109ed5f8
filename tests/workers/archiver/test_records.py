"""WARC records: whatever a page holds comes back from the file, and other programs read what gregor wrote."""

import gzip
from base64 import b32encode
from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import NAMESPACE_URL, uuid5

from fastwarc.warc import ArchiveIterator as FastWarc
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from gregor.config.sections import ArchiveSection
from gregor.outputs.archive.content import content_of, text_of
from gregor.outputs.archive.page import ArchivedPage
from gregor.outputs.archive.reader import open_archive
from schemas.codec import encode
from schemas.pages import PageFacts, decode_facts
from tests.workers.archiver.pages import NOON_MS, config, facts, record
from workers.archiver.disk import Disk
from workers.archiver.http_block import original, renamed
from workers.archiver.manifest import Manifest
from workers.archiver.records import identifier
from workers.archiver.stage import warc_info_of
from workers.archiver.warc_writer import Note, WarcWriter

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
LATIN = st.text(st.characters(max_codepoint=255), max_size=40)
NAMES = st.one_of(
    TEXT,
    st.sampled_from(["Content-Encoding", "transfer-encoding", "CONTENT-LENGTH", "x-crawl-Content-Length", "X-Crawl-"]),
)
HEADERS = st.lists(st.tuples(NAMES, st.one_of(TEXT, LATIN)), max_size=6).map(tuple)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
PAGES = st.builds(
    PageFacts,
    server=TEXT,
    path=TEXT.map("/{}".format),
    lease=TEXT,
    status=NUMBERS,
    scheme=st.sampled_from(["http", "https"]),
    kind=st.sampled_from(["pages", "robots"]),
    fetched_ms=NUMBERS,
    address=TEXT,
    protocol=TEXT,
    request_headers=HEADERS,
    response_headers=HEADERS,
    reason=TEXT,
    undecoded=st.booleans(),
    truncated=st.sampled_from(["", "length", "time", "disconnect"]),
    digest=TEXT,
    previous_digest=TEXT,
    previous_ms=NUMBERS,
    depth=NUMBERS,
    visit=NUMBERS,
)  # fmt: skip
LONG = facts(0, response_headers=(("a: b", "x y " * 3000),))


def write(folder: Path, pages: Sequence[tuple[PageFacts, bytes]]) -> Path:
    """One file, as the stage writes it."""
    writer = WarcWriter(0, Note(1), warc_info_of(config(), "test"))
    disk = Disk(folder)
    for number, (made, body) in enumerate(pages):
        writer.add(record(number, made, body), made)
    for one in writer.writes:
        disk.write(one.file.file, one.at, one.parts)
    disk.sync([one.file.file for one in writer.writes])
    name = writer.writes[-1].file.file
    Manifest(folder, "test").put(writer.committed())
    return folder / name


def checked(path: Path) -> bool:
    """warcio's own check of lengths, frames and digests."""

    class Quiet:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Quiet())
    checker.process_all()
    return not checker.exit_value


@given(st.lists(st.tuples(PAGES, st.binary(max_size=300)), min_size=1, max_size=3))
@example([(LONG, b"\r\n\r\nWARC/1.1\r\n\r\n")])
@example([(facts(0, response_headers=((" a", " b "), ("c", "d\n"), ("", ""))), b"")])
@settings(max_examples=150)
def test_any_headers_and_bodies_survive_the_way_into_a_file_and_back(pages: list[tuple[PageFacts, bytes]]) -> None:
    pages = [(decode_facts(encode(made)), body) for made, body in pages]
    with TemporaryDirectory() as name:
        path = write(Path(name), pages)
        found = list(open_archive(name))
        assert [(one.facts, one.body) for one in found] == pages
        assert checked(path), "warcio agrees with every length and digest"
        with path.open("rb") as file:
            assert sum(1 for _ in FastWarc(file)) == open_archive(name).files[path.name].records, (
                "another reader finds every record"
            )


def test_the_check_notices_a_changed_byte(tmp_path: Path) -> None:
    path = write(tmp_path, [(facts(1, request_headers=()), b"a body of some length")])
    records = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(records.replace(b"a body of", b"a b0dy of")))
    assert not checked(path)


@given(HEADERS, st.integers(0, 10**6))
def test_renamed_headers_get_their_names_back(headers: tuple[tuple[str, str], ...], size: int) -> None:
    assert original(renamed(headers, size)) == headers
    assert original(renamed(headers, size, undecoded=True)) == headers


def one_page(
    folder: Path, made: PageFacts, body: bytes
) -> tuple[ArchivedPage, list[tuple[str, dict[str, str], bytes]]]:
    path = write(folder, [(made, body)])
    with path.open("rb") as file:
        records = [
            (one.rec_type, dict(one.rec_headers.headers), one.content_stream().read()) for one in ArchiveIterator(file)
        ]
    return next(iter(open_archive(folder))), records


def test_headers_about_the_coding_on_the_wire_are_kept_under_another_name(tmp_path: Path) -> None:
    made = facts(
        1, response_headers=(("Content-Type", "text/plain"), ("Content-Encoding", "br"), ("Content-Length", "7"))
    )
    path = write(tmp_path, [(made, b"a body that is longer than seven bytes")])
    with path.open("rb") as file:
        response = next(one for one in ArchiveIterator(file) if one.rec_type == "response")
        assert response.http_headers.headers == [
            ("Content-Type", "text/plain"),
            ("X-Crawl-Content-Encoding", "br"),
            ("X-Crawl-Content-Length", "7"),
        ]
        assert response.content_stream().read() == b"a body that is longer than seven bytes"


def test_a_body_that_could_not_be_decoded_stands_beside_its_coding_as_both_came(tmp_path: Path) -> None:
    headers = (("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"))
    path = write(tmp_path, [(facts(1, response_headers=headers, undecoded=True), b"<html>no gzip</html>")])
    assert checked(path)
    with path.open("rb") as file:
        response = next(one for one in ArchiveIterator(file) if one.rec_type == "response")
        assert response.http_headers.headers == [("Content-Encoding", "gzip"), ("X-Crawl-Transfer-Encoding", "chunked")]
        assert response.content_stream().read() == b"<html>no gzip</html>", (
            "a reader that would decode it finds it as it came"
        )
    page = next(iter(open_archive(tmp_path)))
    assert (page.facts.response_headers, page.facts.undecoded) == (headers, True)
    assert (text_of(page), content_of(page).title) == ("", "")


def test_a_body_that_came_as_it_is_keeps_its_length_header(tmp_path: Path) -> None:
    made = facts(1, response_headers=(("Content-Length", "3"),))
    path = write(tmp_path, [(made, b"abc")])
    with path.open("rb") as file:
        response = next(one for one in ArchiveIterator(file) if one.rec_type == "response")
        assert response.http_headers.headers == [("Content-Length", "3")]


def test_request_and_response_name_each_other_and_their_file(tmp_path: Path) -> None:
    page, records = one_page(tmp_path, facts(1), b"body")
    (info, info_fields, _), (first, response, _), (second, request, _) = records
    assert (info, first, second) == ("warcinfo", "response", "request")
    assert info_fields["WARC-Filename"] == page.place.file
    assert response["WARC-Warcinfo-ID"] == request["WARC-Warcinfo-ID"] == info_fields["WARC-Record-ID"]
    assert request["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    assert response["WARC-Target-URI"] == "http://example.com/page/1"
    assert response["WARC-Date"] == "2027-01-15T08:00:00.001Z"
    assert response["WARC-IP-Address"] == "192.0.2.7"
    assert response["X-Crawl-Position"] == "0/0"


@given(TEXT, st.integers(0, 2**40))
def test_identifiers_are_those_of_the_standard(topic: str, offset: int) -> None:
    expected = uuid5(NAMESPACE_URL, f"gregor:{topic}/3/{offset}/response")
    assert identifier(topic, 3, offset, "response") == f"<urn:uuid:{expected}>".encode()


def test_digests_are_those_of_the_standard(tmp_path: Path) -> None:
    page, _ = one_page(tmp_path, facts(1), b"body")
    assert page.sha1 == b32encode(sha1(b"body").digest()).decode()


def test_a_body_that_was_cut_off_says_why(tmp_path: Path) -> None:
    _, records = one_page(tmp_path, facts(1, truncated="length"), b"half a bo")
    assert records[1][1]["WARC-Truncated"] == "length"


def test_a_304_is_a_revisit_that_says_of_what(tmp_path: Path) -> None:
    made = facts(1, status=304, visit=1, previous_digest="aa", previous_ms=NOON_MS - 1000, digest="")
    page, records = one_page(tmp_path, made, b"")
    kind, fields, _ = records[1]
    assert kind == "revisit"
    assert fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert fields["WARC-Refers-To-Target-URI"] == made.url
    assert fields["WARC-Refers-To-Date"] == "2027-01-15T07:59:59.000Z"
    assert page.revisit == "server-not-modified"


def test_the_same_page_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = [(facts(number), b"body %d" % number * 100) for number in range(20)]
    one, other = write(tmp_path / "a", pages), write(tmp_path / "b", pages)
    assert one.read_bytes() == other.read_bytes()


def test_a_page_as_large_as_the_log_takes_is_archived(tmp_path: Path) -> None:
    body = bytes(range(256)) * 4 * 4096
    page, _ = one_page(tmp_path, facts(1), body)
    assert page.body == body


def test_the_level_of_compression_is_a_setting() -> None:
    made, body = facts(1), b" ".join(b"%d" % number for number in range(20_000))
    sizes = []
    for level in (1, 9):
        writer = WarcWriter(0, Note(0), warc_info_of(config(level=level), "test"))
        sizes.append(writer.add(record(0, made, body), made))
    assert sizes[0] > sizes[1]
    assert ArchiveSection().level == 4
