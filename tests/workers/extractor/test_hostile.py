"""Pages that were made to hurt: each costs a bounded amount, a counter and a verdict."""

import logging
import tracemalloc
from pathlib import Path

import pytest
import webencodings  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from gregor.errors import NoRoom
from gregor.runtime.transport.port import Assignment, Position
from schemas.pages import PageFacts
from tests.workers.extractor.staged import HTML, staged
from workers.extractor.guarded import guarded
from workers.extractor.reading import ReadSettings, read

pytestmark = pytest.mark.usefixtures("reader")

MILLION = 1_000_000


def test_a_million_links_are_cut_at_the_limit(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        assert len(stage.page("<a href=x>" * MILLION).urls()) == 1
        assert stage.commit().verdicts() == {"too-many-links": MILLION - 50_000}


def test_a_million_different_links_leave_the_memory_as_it_was(tmp_path: Path) -> None:
    with staged(tmp_path, "[filter]\ncapacity = 1000\nhrefs = 1000\n[extract]\nmax_links = 1000") as stage:

        def page(number: int) -> None:
            body = "".join(f"<a href=/{number}/{n}>x</a>" for n in range(1000))
            assert len(stage.page(body, url=f"http://h.example/{number}").commit().urls()) == 1000

        for number in range(5):
            page(number)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(5, 25):
            page(number)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert stage.stage.known.size <= 1000
        assert grown < 2_000_000


@pytest.mark.parametrize(
    ("body", "verdicts"),
    [
        ("<div>" * 100_000 + "<a href=/a>x</a>", {}),
        ("</a>" + "<div>" * 100_000 + "<a href=/a>x</a>", {"incomplete": 1}),
        (f"<a href='/{'x' * 10_000_000}'>x</a><a href=/a>x</a>", {"url-too-long": 1}),
        ("<base href='ftp://h.example/'><a href=/a>x</a>", {}),
        ("<base href='javascript:1'><a href=/a>x</a>", {}),
        ("<a href='http://user:secret@h.example/'>x</a><a href=/a>x</a>", {"url-credentials": 1}),
        ("<a href='/a\x00\x01'>x</a><a href=/a>x</a>", {}),
        ("<a href='java\nscript:x'>x</a><a href='\x01javascript:x'>x</a><a href=/a>x</a>", {"url-scheme": 2}),
        (b"\xff\xfe<\x00a\x00 \x00h\x00\xd8", {}),
    ],
    ids=[
        "deep",
        "deep-and-not-plain",
        "long",
        "base-scheme",
        "base-script",
        "credentials",
        "controls",
        "schemes",
        "charset",
    ],
)
def test_hostile_markup_is_a_verdict_at_most(
    tmp_path: Path, body: str | bytes, verdicts: dict[str, int], reader: str
) -> None:
    with staged(tmp_path) as stage:
        urls = stage.page(body).urls()
        assert urls in ([], ["http://h.example/a"]) or urls == ["http://h.example/a", "http://h.example/a%EF%BF%BD"]
        # The native reader has no depth that it could not read to its end.
        assert stage.commit().verdicts() == ({} if reader == "native" and "incomplete" in verdicts else verdicts)


def test_no_secret_of_a_url_stands_in_a_verdict(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        outputs = stage.page("<a href='http://user:secret@h.example/'>x</a>").stage.prepare()
        assert outputs
        assert all(b"secret" not in output.value for output in outputs)


def _fails(*_: object) -> None:
    raise LookupError("nobody has foreseen this")


def test_a_page_that_cannot_be_read_is_a_verdict_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webencodings, "lookup", _fails)
    with staged(tmp_path) as stage, caplog.at_level(logging.ERROR):
        stage.page("<a href=/a>x</a>", headers=(("Content-Type", "text/html; charset=unheard-of"),))
        assert stage.urls() == []
        assert stage.page("<a href=/a>x</a>", headers=(("Content-Type", "text/html"),)).urls() == ["http://h.example/a"]
        assert stage.commit().verdicts() == {"links-crash": 1}
    assert "nobody has foreseen this" in caplog.text, "with the traceback"


def test_the_links_of_a_page_that_cannot_be_linked_are_not_taken_for_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with staged(tmp_path, warm=True) as stage:
        for failing in ("gregor.rules.scope.LinkScope.judge", "workers.extractor.routing.encode"):
            with monkeypatch.context() as patch:
                patch.setattr(failing, _fails)
                assert stage.page("<a href=/a>x</a><a href='/ä'>x</a>").urls() == []
        assert stage.page("<a href=/b>x</a>", url="http://h.example/2").commit().verdicts() == {"links-crash": 2}
        assert stage.urls() == ["http://h.example/b"]
    with staged(tmp_path, warm=True) as stage:
        stage.stage.assigned(0, Assignment(positions={"pages": Position(3)}, ends={"pages": 3}, state=None))
        body = "<a href=/a>x</a><a href=/b>x</a>"
        assert stage.page(body).urls() == ["http://h.example/a"], "nor after a restart, which remembers the other"


@pytest.mark.parametrize("error", [MemoryError(), OSError("no such device"), NoRoom("full"), Exception("IO error: x")])
def test_what_is_wrong_with_the_machine_is_not_taken_for_a_page(error: Exception) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        guarded("http://h.example/", work)


_HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["content-type", "location", "link", "x-robots-tag", "content-language"]),
        st.sampled_from(["text/html", "application/xml", "text/css", "text/plain", "", "gregor:none", "<x>; rel=next"])
        | st.text(max_size=20),
    ),
    max_size=4,
)


@given(
    st.binary(max_size=200),
    st.sampled_from([200, 301, 304, 404]),
    st.sampled_from(["pages", "robots"]),
    _HEADERS,
)
def test_any_response_is_read(body: bytes, status: int, kind: str, headers: list[tuple[str, str]]) -> None:
    settings = ReadSettings(text=True, probe_sitemap=True)
    facts = PageFacts(server="h", path="/", lease="l", status=status, kind=kind, response_headers=tuple(headers))  # type: ignore[arg-type]
    read(facts, body, settings)


@given(st.text(max_size=200), _HEADERS)
def test_any_page_goes_through_the_stage(
    tmp_path_factory: pytest.TempPathFactory, text: str, headers: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with staged(folder, "filter.store_urls = 0\nextract.requisites = true") as stage:
        body = f"<a href='{text}'>x</a><img src='{text}'>".encode("utf-8", "replace")
        stage.page(body, headers=(HTML, *headers)).commit()
