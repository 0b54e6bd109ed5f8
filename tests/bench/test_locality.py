"""The share of links that leave the server or the directory of their page."""

import pytest

from bench.locality import TREES, measure_pages, pages_of, provide

PAGE = b"""<html><a href="b.html">near</a> <a href="b.html#part">again</a> <a href="#here">within</a>
<a href="/other/c.html">far</a> <a href="http://else.example/">away</a> <a href="mailto:nobody@else.example">no page</a></html>"""


def test_links_are_counted_by_where_they_lead() -> None:
    found = measure_pages("test", [("https://docs.example/dir/a.html", PAGE)])
    assert (found.pages, found.links, found.other_directory, found.other_server, found.servers) == (1, 4, 1, 1, 2)
    assert found.beta == pytest.approx(0.25, rel=1e-3)


def test_a_tree_without_links_has_no_strays() -> None:
    assert measure_pages("empty", []).beta == 0


def test_real_documentation_links_mostly_to_its_own_server() -> None:
    provide(TREES[:1])
    pages = pages_of(TREES[0])
    assert len(pages) > 400
    found = measure_pages("python", pages[:40])
    assert found.links > 1_000
    assert 0 < found.beta < 0.5
