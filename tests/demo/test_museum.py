"""The bundled museum: that it is what it says, that its oracle is true, and that its judge sees what went wrong."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lxml import html  # type: ignore[import-untyped]
from msgspec.structs import replace

from gregor.config import Flag, load
from gregor.demo.judge import judge
from gregor.demo.museum import HOUSES, SETTINGS, House, Museum
from gregor.demo.pictures import requisites
from gregor.demo.server import serve
from gregor.demo.traps import MONTHS
from gregor.run.embedded import EmbeddedCrawl

MUSEUM = Museum(port=8080)
SMALL = (
    replace(HOUSES[0], pages=25, vault=True),
    replace(HOUSES[1], pages=8, rules=HOUSES[1].rules + "Crawl-delay: 0.02\n" if HOUSES[1].rules else None),
    House(name="Endless house", pages=12, mirrors=True, calendar=True),
    House(name="House without rules", pages=6, rules=None),
    House(name="House of the old porter", pages=6, delay_s=0.05),
)


def ask(url: str, earlier: int = 0, museum: Museum = MUSEUM) -> tuple[int, bytes, str]:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    answer = museum.answer(parts.hostname or "", path, earlier)
    return answer.status, answer.raw or answer.body.encode(), answer.content_type


def test_it_has_a_few_thousand_pages_on_a_dozen_hosts() -> None:
    assert len(MUSEUM.addresses()) == len(MUSEUM.seeds) == 12
    assert 3000 <= len(MUSEUM.pages()) <= 5000
    assert MUSEUM.pages() <= MUSEUM.urls()


def test_it_answers_the_same_each_time_and_every_url_of_its_oracle_has_an_answer_of_its_own() -> None:
    statuses: Counter[int] = Counter()
    for url in MUSEUM.urls():
        status, body, kind = ask(url)
        assert (status, body, kind) == ask(url)
        assert body != b"Not in the collection.\n", url
        statuses[status] += 1
    assert set(statuses) == {200, 301, 302, 307, 403, 404, 410, 500, 503}
    assert statuses[200] > len(MUSEUM.pages())


def test_what_is_asked_twice_is_well_at_the_second_time() -> None:
    twice = [url for url, times in MUSEUM.asked().items() if times == 2]
    assert len(twice) == len(HOUSES) + 1
    assert {ask(url)[0] for url in twice} == {500, 503}
    assert {ask(url, earlier=1)[0] for url in twice} == {200}
    assert set(MUSEUM.asked().values()) == {1, 2}


def test_duplicates_have_the_very_same_bytes() -> None:
    bodies = Counter(ask(url)[1] for url in MUSEUM.urls() if urlsplit(url).path.startswith(("/print/", "/ants/")))
    assert sum(1 for count in bodies.values() if count == 2) >= len(HOUSES)


def test_every_page_loads_a_style_sheet_and_pictures_that_the_house_has() -> None:
    for seed in MUSEUM.seeds:
        page = html.fromstring(ask(seed)[1])
        loaded = {*page.xpath("//img/@src"), *page.xpath("//link/@href")}
        assert len(loaded) == 3
        assert loaded <= requisites().keys()
    assert ask(MUSEUM.url(0, "/img/emblem.png"))[1].startswith(b"\x89PNG")
    assert b"/img/paper.svg" in ask(MUSEUM.url(0, "/style.css"))[1]


def test_the_vault_is_named_by_a_packed_sitemap_alone() -> None:
    host = next(host for host, house in enumerate(HOUSES) if house.vault)
    index = MUSEUM.url(host, "/sitemap.xml")
    assert f"Sitemap: {index}".encode() in ask(MUSEUM.url(host, "/robots.txt"))[1]
    packed = MUSEUM.url(host, "/sitemaps/vault.xml.gz")
    assert packed.encode() in ask(index)[1]
    vault = {url for url in MUSEUM.urls() if "/vault/" in url}
    assert len(vault) == 40
    listed = gzip.decompress(ask(packed)[1])
    assert all(f"<loc>{url}</loc>".encode() in listed for url in vault)
    assert not any(b'="/vault/' in ask(url)[1] for url in MUSEUM.pages())


def test_one_house_has_no_robots_txt_and_one_is_slow() -> None:
    assert [ask(MUSEUM.url(host, "/robots.txt"))[0] for host in range(12)].count(404) == 1
    assert MUSEUM.answer("127.0.0.12", "/").delay_s > 0
    assert MUSEUM.answer("127.0.0.1", "/").delay_s == 0


def test_a_crawl_asks_for_what_the_museum_says_and_for_nothing_else(tmp_path: Path) -> None:
    with serve(Museum(houses=SMALL)) as server:
        flags = {key: Flag(value, "--demo") for key, value in SETTINGS.items()}
        flags["crawl.seeds"] = Flag(tuple(server.site.seeds), "--demo")
        empty = tmp_path / "gregor.toml"
        empty.write_text("")
        job = EmbeddedCrawl(load(empty, {}, flags).config, tmp_path / "crawl")
        try:
            counters = job.run().counters
        finally:
            job.close()
        found = judge(Museum(port=server.port, houses=SMALL), server.requested())
    assert found.clean, found
    assert found.endless == MONTHS
    assert counters["dropped_robots"] == 3
    assert counters["refused_query-variants"] > 0
    assert counters["refused_repeated-segments"] > 0


def test_the_judge_tells_what_was_missed_what_was_strange_and_what_came_too_often() -> None:
    museum = Museum(port=8080, houses=SMALL)
    whole = museum.asked()
    assert judge(museum, whole).clean
    first, twice = museum.url(0, "/"), museum.url(0, "/fragile/vase.html")
    assert judge(museum, whole - Counter([first])).missed == (first,)
    assert judge(museum, whole + Counter([first])).too_often == (first,)
    assert judge(museum, whole + Counter([twice])).too_often == (twice,)
    closed = museum.url(1, "/staff/keys.html")
    assert judge(museum, whole + Counter([closed])).strange == (closed,)
    months = Counter(museum.url(2, f"/calendar?month={2031 + n}-01") for n in range(MONTHS + 1))
    assert judge(museum, whole + months).endless == MONTHS + 1
    assert not judge(museum, whole + months).clean


def test_a_museum_that_is_not_served_has_no_urls() -> None:
    with pytest.raises(ValueError, match="found none"):
        Museum().urls()
