"""The generated web: the same bytes for the same seed, sizes and sites as they are drawn, links that lead everywhere, and its oracle."""

from __future__ import annotations

import hashlib
import math
from statistics import fmean, median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gregor.offline.generated import PROFILES, GeneratedWeb, WebShape, page_sizes, shape_of
from gregor.offline.link_graph import LinkGraph, LinkShape, site_sizes

SHAPE = WebShape(pages=20_000, sites=1_000, seed=7)
WEB = GeneratedWeb(SHAPE)


def links_in(page: int) -> set[str]:
    """Whole URLs on a page, as a parser finds them."""
    server = WEB.url(page).split("/")[2]
    found = (node.attributes["href"] or "" for node in LexborHTMLParser(WEB.body(page)).css("a[href]"))
    return {f"http://{server}{href}" if href.startswith("/") else href for href in found}


def test_the_same_seed_gives_the_same_bytes_on_every_machine() -> None:
    """If this fails after a change that is meant, so be it; if it fails on another machine, the web depends on the machine."""
    digest = hashlib.sha256()
    for page in range(0, SHAPE.pages, 97):
        digest.update(WEB.body(page))
    assert digest.hexdigest() == "b7927e4b7c1d11707854e7ee8a666e457bebf366efe2e2c472a249483bde5fd1"
    assert GeneratedWeb(SHAPE).body(123) == WEB.body(123)
    assert GeneratedWeb(WebShape(pages=20_000, sites=1_000, seed=8)).body(123) != WEB.body(123)


@pytest.mark.parametrize("name", PROFILES)
def test_sizes_are_log_normal_around_the_mean(name: str) -> None:
    profile = next(one for key, one in PROFILES.items() if key == name)
    sizes = page_sizes(profile)
    assert fmean(sizes) == pytest.approx(profile.mean_bytes, rel=0.001)
    logs = [math.log(one) for one in sizes]
    assert median(logs) == pytest.approx(fmean(logs), abs=0.001)
    assert np.std(logs) == pytest.approx(profile.spread, rel=0.01)


def test_pages_have_the_size_that_was_drawn() -> None:
    sizes = [len(WEB.body(page)) for page in range(0, SHAPE.pages, 7)]
    assert fmean(sizes) == pytest.approx(22_300, rel=0.05)


def test_sizes_of_sites_follow_a_power_law() -> None:
    sizes = site_sizes(1_000_000, 1_000)
    assert (sizes.sum(), sizes.min(), len(sizes)) == (1_000_000, 133, 1_000)
    ranks = np.arange(1, 1_001)
    slope = np.polyfit(np.log(ranks), np.log(sizes), 1)[0]
    assert slope == pytest.approx(-1, abs=0.01)


def test_a_share_beta_of_the_links_leads_to_other_sites() -> None:
    pages = np.arange(0, SHAPE.pages, 5)
    links = WEB.graph.links(pages)
    there = links >= 0
    outside = there & (WEB.graph.sites_of(links) != WEB.graph.sites_of(pages)[:, None])
    assert outside.sum() / there.sum() == pytest.approx(SHAPE.beta, abs=0.01)


def test_what_stands_in_a_page_is_what_the_graph_says() -> None:
    for page in (0, 1, 57, 9_999, SHAPE.pages - 1):
        targets = WEB.graph.links(np.array([page]))[0]
        assert links_in(page) == {WEB.url(one) for one in targets[targets >= 0].tolist()}


def test_pages_of_today_are_markup_of_the_same_links_and_sizes() -> None:
    web = GeneratedWeb(WebShape(pages=2_000, sites=50, seed=7, profile="today"))
    bodies = [web.body(page) for page in range(0, 2_000, 4)]
    assert fmean(map(len, bodies)) == pytest.approx(140_000, rel=0.12)
    assert all(body.count(b"<script>") == body.count(b"</script>") for body in bodies), "no element is cut"
    for page in (0, 60, 1_999):
        targets = web.graph.links(np.array([page]))[0]
        found = [node.attributes["href"] or "" for node in LexborHTMLParser(web.body(page)).css("a[href]")]
        assert len(found) == (targets >= 0).sum()


def test_the_oracle_knows_what_following_the_links_of_the_pages_finds() -> None:
    small = GeneratedWeb(WebShape(pages=600, sites=40, seed=3))
    seen, waiting = set(small.seeds()), small.seeds()
    while waiting:
        server, path = waiting.pop().removeprefix("http://").split("/", 1)
        body = small.answer(server, f"/{path}")
        assert body is not None
        for node in LexborHTMLParser(body).css("a[href]"):
            href = node.attributes["href"] or ""
            url = f"http://{server}{href}" if href.startswith("/") else href
            if url not in seen:
                seen.add(url)
                waiting.append(url)
    assert seen == set(small.urls(small.graph.everything))
    assert len(seen) == 600


def test_hidden_pages_are_found_by_links_of_other_sites_alone() -> None:
    pages = np.arange(SHAPE.pages)
    hidden = WEB.graph.is_hidden(pages)
    assert hidden.sum() > 500
    assert WEB.graph.everything.all()
    assert (WEB.graph.reachable_by_site([0]) == ~hidden).all()


def test_only_what_can_be_reached_from_the_seeds_is_expected() -> None:
    last = WEB.graph.starts[SHAPE.sites - 1]
    reached = LinkGraph(LinkShape(pages=100, sites=10, beta=0.0, hidden=0.0)).reachable([99])
    assert reached.sum() < 100
    assert WEB.graph.reachable([int(last)])[int(last)]


@given(st.integers(1, 400), st.integers(1, 60), st.integers(0, 2**64), st.floats(0, 1), st.floats(0, 0.5))
def test_every_page_of_every_web_is_reached_from_the_first_root(
    pages: int, sites: int, seed: int, beta: float, hidden: float
) -> None:
    shape = LinkShape(pages=max(pages, sites), sites=sites, seed=seed, links=5, beta=beta, hidden=hidden)
    assert LinkGraph(shape).everything.all()


@given(st.integers(0, SHAPE.pages - 1))
def test_a_page_is_found_by_its_url(page: int) -> None:
    server, _, path = WEB.url(page).removeprefix("http://").partition("/")
    assert WEB.page_of(server, f"/{path}") == page


@pytest.mark.parametrize(
    ("server", "path"),
    [
        ("s0.example", "/p0"), ("s0.example", "/p01"), ("s0.example", "/p99999999"), ("s0.example", "/p"), ("s0.example", "/x"),
        ("s0.example", "/p１"), ("s0.example", "/p1?a"), ("s1000.example", "/"), ("s01.example", "/"), ("s.example", "/"),
        ("s0.example:80", "/"), ("other.example", "/"), ("s0.example.org", "/"), ("s-1.example", "/"),
    ],
)  # fmt: skip
def test_what_is_no_page_of_it_is_not_there(server: str, path: str) -> None:
    assert WEB.answer(server, path) is None


def test_sites_may_have_names_of_their_own() -> None:
    web = GeneratedWeb(WebShape(pages=30, sites=3), servers=("127.0.0.1:80", "127.0.0.2:80", "127.0.0.3:80"))
    assert web.seeds(2) == ["http://127.0.0.1:80/", "http://127.0.0.2:80/"]
    assert web.page_of("127.0.0.2:80", "/") == web.graph.starts[1]
    assert web.answer("s1.example", "/") is None
    assert b"http://127.0.0.3:80/" in b"".join(map(web.body, range(30)))


def test_a_web_is_told_by_its_numbers() -> None:
    assert shape_of("100000,1000,7") == WebShape(pages=100_000, sites=1_000, seed=7)
    assert shape_of("10,2,0,today").profile == "today"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1,1",
        "0,0,1",
        "10,20,1",
        "-1,1,1",
        "1e3,1,1",
        "10,2,1,yesterday",
        "10,2,1,paper,more",
        "9" * 30 + ",1,1",
    ],
)
def test_what_is_no_web_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        shape_of(text)
    assert "\n" not in str(caught.value)
