"""Paper 003's benchmark: its links, and that every contender adds each of them once."""

import re
from pathlib import Path

import pytest

from bench.engines.postgres_server import PostgresServer
from bench.urldb import SAMPLE, Links, Point, RandomLinks, beside, conclude, contenders, fill, grow


def test_links_are_of_the_papers_alphabet_and_domains() -> None:
    links = RandomLinks(seed=4, domains=100).take(2_000)
    assert all(re.fullmatch(r"/[a-zA-Z/\-_]{8,60}", path) for path in links.paths)
    assert len(set(links.servers)) == 100
    assert len(set(zip(links.servers, links.paths, strict=True))) == 2_000


def test_the_same_links_have_the_same_texts_and_hashes() -> None:
    links = Links(["a.pl", "b.pl", "a.pl"], ["/x", "/x", "/x"])
    assert links.as_text().texts.tolist() == [b"http://a.pl/x", b"http://b.pl/x", b"http://a.pl/x"]  # type: ignore[union-attr]
    hashed = links.hashed()
    assert hashed.server_hashes[0] == hashed.server_hashes[2] != hashed.server_hashes[1]
    assert len(set(hashed.fingerprints.tolist())) == 1


def test_every_contender_adds_all_links_and_knows_them_afterwards(tmp_path: Path) -> None:
    server = PostgresServer()
    try:
        rivals = contenders(tmp_path, server)
        links = RandomLinks(seed=2, domains=50)
        first = RandomLinks(seed=2, domains=50).take(3_000)
        fill(rivals, links, 3_000)
        steps = list(grow(rivals, links, range(3_000, 5_000, 1_000)))
        assert [points["gregor"].volume for points in steps] == [4_000, 5_000]
        assert {name for points in steps for name in points} == {rival.name for rival in rivals}
        for rival in rivals:
            assert not rival.engine.check(rival.convert(first)).any()
            fresh = RandomLinks(seed=9, domains=50).take(100)
            expected = rival.name not in ("gregor-single", "postgres-single")
            assert rival.engine.check(rival.convert(fresh)).all() == expected
    finally:
        server.stop()
    assert SAMPLE < 1_000


def test_the_plot_and_the_ratios_are_of_all_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = {
        "gregor": [Point(1, 2.0, 1.0), Point(2, 4.0, 1.0)],
        "postgres-single": [Point(1, 30.0, 5.0), Point(2, 60.0, 6.0)],
    }
    conclude(measured, tmp_path / "plot.svg", as_json=True)
    assert '"ratio_postgres_single": 15.0' in capsys.readouterr().out
    drawn = (tmp_path / "plot.svg").read_bytes()
    conclude(measured, tmp_path / "again.svg", as_json=False)
    assert drawn.startswith(b"<?xml")
    assert beside(tmp_path / "plot.svg").exists()
    assert drawn == (tmp_path / "again.svg").read_bytes()
