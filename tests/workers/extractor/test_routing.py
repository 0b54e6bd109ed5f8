"""With placement by sites a record goes to its site's slot, or home; what a crawl of two levels leaves out is told and counted."""

from collections import Counter
from pathlib import Path
from typing import Literal

import pytest

from gregor.runtime.loops.decode import decode_broadcast
from gregor.runtime.transport.port import Record
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.sites import Site, SiteState
from tests.workers.extractor.staged import Staged, staged

SITES = 'crawl.scope = "any"\n[partitions]\nplacement = "sites"\n'
TWO_LEVEL = SITES + '[sites]\ncoverage = "two-level"\n'
HOME = HashPlacement(16, 4)
ELSEWHERE = "b.example"


def slot_of(server: str) -> int:
    """One that is not its home."""
    return (HOME.partition(server) + 3) % 4


def row(server: str, state: SiteState = "placed") -> Site:
    return Site(site=server, slot=slot_of(server), state=state)


def link(*urls: str) -> str:
    return "".join(f'<a href="{url}">x</a>' for url in urls)


def test_links_of_a_placed_site_go_to_its_slot_and_others_home(tmp_path: Path) -> None:
    with staged(tmp_path, SITES) as stage:
        stage.hear(
            row("h.example"), row("b.example", "blocked"), row("c.example", "waiting"), row("d.example", "found")
        )
        servers = ["h.example", "b.example", "c.example", "d.example", "e.example"]
        stage.page(link(*(f"http://{server}/1" for server in servers)))
        assert stage.places() == {
            "h.example": slot_of("h.example"),
            "b.example": slot_of("b.example"),
            "c.example": HOME.partition("c.example"),
            "d.example": HOME.partition("d.example"),
            "e.example": HOME.partition("e.example"),
        }


def test_a_row_counts_from_the_moment_that_it_is_heard(tmp_path: Path) -> None:
    with staged(tmp_path, SITES) as stage:
        assert stage.page(link("/1")).places() == {"h.example": HOME.partition("h.example")}
        stage.hear(row("h.example"))
        assert stage.page(link("/2")).places() == {"h.example": slot_of("h.example")}


def test_repetitions_go_where_the_links_went(tmp_path: Path) -> None:
    with staged(tmp_path, SITES) as stage:
        stage.hear(row("h.example"))
        stage.tick(1).page(link("/1")).commit().page(link("/1"), url="http://h.example/2").commit()
        stage.places()
        assert stage.tick(10**9).places() == {"h.example": slot_of("h.example")}


def test_a_domain_is_a_site_where_partitions_are_by_domain(tmp_path: Path) -> None:
    with staged(tmp_path, SITES + 'partition_by = "domain"\n') as stage:
        stage.hear(row("b.example"))
        assert stage.page(link("http://www.b.example/1")).places() == {"www.b.example": slot_of("b.example")}


def test_placement_by_hash_hears_no_rows(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        stage.hear(row("h.example"))
        assert stage.page(link("/1")).places() == {"h.example": HOME.partition("h.example")}


@pytest.mark.parametrize("value", [b"", b"{", b'{"site":7}', encode(Site(site="h.example", slot=8)), None])
def test_a_row_that_cannot_be_read_is_passed_over_in_one_line(
    tmp_path: Path, value: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    with staged(tmp_path, SITES) as stage:
        rows = [Record("sites", 0, n, b"h.example", value, None, 0) for n in range(3)]
        good = Record("sites", 0, 3, b"b.example", encode(row("b.example")), None, 0)
        received, unread = decode_broadcast([*rows, good], stage.stage.decoders)
        stage.stage.on_broadcast(received)
        assert unread == Counter(sites=3)
        assert "a record of sites at offset 0 is ignored, with 2 more: " in caplog.text
        assert stage.page(link("/1", "http://b.example/")).places() == {
            "h.example": HOME.partition("h.example"),
            "b.example": slot_of("b.example"),
        }


def told(stage: Staged) -> list[tuple[str, str, int]]:
    """Sites that were told, with the scheme of the link and its hops."""
    return [(one.server, one.scheme, one.hops) for one in stage.discovered() if not one.paths]


def test_two_levels_tell_a_site_once_and_leave_its_pages_out(tmp_path: Path) -> None:
    with staged(tmp_path, TWO_LEVEL) as stage:
        stage.hear(row("h.example"), row("c.example"))
        page = link("/1", "http://b.example/x", "http://b.example/y", "https://b.example/z", "http://c.example/")
        stage.page(page, hops=2)
        assert stage.places() == {"h.example": slot_of("h.example"), "b.example": HOME.partition("b.example")}
        stage.page(page, hops=2)
        assert told(stage) == [("b.example", "http", 3)]
        assert stage.commit().verdicts() == {"two-level": 8}
        stage.page(page, url="http://h.example/3")
        assert stage.discovered() == []


def test_what_was_told_in_vain_is_told_again(tmp_path: Path) -> None:
    with staged(tmp_path, TWO_LEVEL) as stage:
        assert told(stage.page(link("http://b.example/x"))) == [("b.example", "http", 1)]
        stage.stage.dropped()
        assert told(stage.page(link("http://b.example/x"))) == [("b.example", "http", 1)]


def test_two_levels_report_nothing_that_was_left_out_as_repeated(tmp_path: Path) -> None:
    with staged(tmp_path, TWO_LEVEL) as stage:
        stage.tick(1)
        for number in range(3):
            stage.page(link("http://b.example/x"), url=f"http://h.example/{number}").commit()
        stage.discovered()
        assert stage.tick(10**9).discovered() == []


@pytest.mark.parametrize("coverage", ["full", "two-level"])
def test_redirects_and_requisites_leave_a_site_under_every_coverage(
    tmp_path: Path, coverage: Literal["full", "two-level"]
) -> None:
    text = SITES + f'[sites]\ncoverage = "{coverage}"\n[extract]\nrequisites = true\n'
    with staged(tmp_path, text) as stage:
        stage.page(status=301, headers=(("Location", "http://b.example/there"),))
        stage.page('<img src="http://c.example/i.png">')
        assert stage.urls() == ["http://b.example/there", "http://c.example/i.png"]


def test_a_link_beyond_the_limits_tells_no_site(tmp_path: Path) -> None:
    with staged(tmp_path, "crawl.max_hops = 2\n" + TWO_LEVEL) as stage:
        assert told(stage.page(link("http://b.example/x"), hops=2)) == []
        assert told(stage.page(link("http://b.example/x"), hops=1)) == [("b.example", "http", 2)]
