"""What the extractor makes of pages: links, verdicts, scope, counts."""

import gzip
from pathlib import Path

import pytest

from gregor.runtime.transport.port import Assignment, Position
from schemas.control import SeedScope
from schemas.discovered import Rel
from tests.workers.extractor.staged import HTML, SEED, staged
from workers.extractor.stage import FEW_URLS

pytestmark = pytest.mark.usefixtures("reader")

ANY = 'crawl.scope = "any"\n'


def test_links_are_grouped_by_server_scheme_and_kind_with_depth_and_hops(tmp_path: Path) -> None:
    body = """<link rel=canonical href=/c><a href=/a>x</a><a href=/b rel=nofollow>x</a><a href='/a#x'>x</a>
    <a href=https://h.example/s>x</a><a href=http://other.test/o>x</a><a href=http://www.h.example/w>x</a>"""
    with staged(tmp_path, ANY) as stage:
        found = stage.page(body, depth=3, hops=4, off_site=1, seed=2, fetched_ms=5).discovered()
    by_key = {(one.scheme, one.server, one.kind): one for one in found}
    assert set(by_key) == {
        ("http", "h.example", "canonical"),
        ("http", "h.example", "link"),
        ("https", "h.example", "link"),
        ("http", "other.test", "link"),
        ("http", "www.h.example", "link"),
    }
    own = by_key["http", "h.example", "link"]
    assert (own.paths, own.flags, own.counts) == (("/a", "/b"), (0, Rel.NOFOLLOW), (2, 1))
    assert (own.depth, own.hops, own.off_site, own.internal, own.seed) == (4, 5, 1, True, 2)
    assert (own.referrer, own.referrer_lease, own.redirects) == (SEED, "lease-1", 0)
    other = by_key["http", "other.test", "link"]
    assert (other.depth, other.hops, other.off_site, other.internal) == (1, 5, 2, False)
    assert by_key["http", "www.h.example", "link"].internal


def test_links_are_urgent_until_many_pages_are_still_to_come(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        assert stage.page("".join(f"<a href=/{n}>x</a>" for n in range(FEW_URLS - 1))).urgent
        assert not stage.page("no links").urgent
        assert not stage.page("".join(f"<a href=/more{n}>x</a>" for n in range(10))).urgent
        for number in range(10):
            stage.page("", url=f"http://h.example/{number}")
        assert stage.page("<a href=/last>x</a>").urgent


def test_a_url_is_nofollow_only_if_every_link_to_it_is(tmp_path: Path) -> None:
    body = """<a href=/a rel=nofollow>x</a><a href='/a#b'>x</a><a href=/b rel='ugc nofollow'>x</a><a href=/b rel=nofollow>x</a>"""
    with staged(tmp_path) as stage:
        (found,) = stage.page(body).discovered()
    assert dict(zip(found.paths, found.flags, strict=True)) == {"/a": 0, "/b": Rel.NOFOLLOW}


def test_nofollow_links_can_be_dropped_and_come_later_from_elsewhere(tmp_path: Path) -> None:
    with staged(tmp_path, '[extract]\nnofollow = "drop"') as stage:
        assert stage.page("<a href=/a rel=sponsored>x</a><a href=/b>x</a>").urls() == ["http://h.example/b"]
        assert stage.page("<a href=/a>x</a>", url="http://h.example/2").urls() == ["http://h.example/a"]
        assert stage.commit().verdicts() == {"rel-nofollow": 1}


def test_known_links_are_sent_once_and_reported_with_their_counts(tmp_path: Path) -> None:
    with staged(tmp_path, "[filter]\nflush_s = 10\nflush_urls = 1") as stage:
        stage.tick(1000)
        stage.page("<a href=/a>x</a><a href=/b>x</a>").commit()
        assert len(stage.urls()) == 2
        for number in range(3):
            stage.page(
                "<a href=/a>x</a><a href='/a#x'>x</a><a href=/b>x</a>", url=f"http://h.example/{number}"
            ).commit()
        assert stage.urls() == []
        assert stage.tick(10_999).discovered() == []
        (report,) = stage.tick(11_000).discovered()
        assert (report.kind, report.paths, report.counts) == ("repetition", ("/a",), (6,))
        stage.stage.dropped()
        (again,) = stage.tick(21_001).discovered()
        assert again.counts == (6,), "an aborted report comes again"
        stage.commit()
        assert stage.tick(99_000).discovered() == []


def test_what_was_dropped_is_sent_again_and_its_verdicts_too(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        body = "<a href=/a>x</a><a href=http://other.test/>x</a>"
        assert stage.page(body).urls() == ["http://h.example/a"]
        stage.stage.dropped()
        assert stage.page(body).urls() == ["http://h.example/a"]
        assert stage.commit().verdicts() == {"scope-host": 1}
        assert stage.stage.tally.totals == {("refused", "scope-host"): 1}


def test_everything_refused_has_a_verdict_with_its_exact_count(tmp_path: Path) -> None:
    body = """<a href=http://other.test/1>x</a><a href=http://other.test/2>x</a><a href=mailto:x>x</a><a href=http://u:p@h.example/>x</a>
    <a href='http://['>x</a><a href=/%s>x</a><a href=/d.zip>x</a><a href=/1>x</a><a href=/2>x</a>""" % ("x" * 3000)
    with staged(tmp_path, '[extract]\nmax_links = 8\n[scope]\nrefuse_extensions = ["zip"]') as stage:
        assert stage.page(body).urls() == ["http://h.example/1"]
        assert stage.commit().verdicts() == {
            "scope-host": 2,
            "url-scheme": 1,
            "url-credentials": 1,
            "url-invalid": 1,
            "url-too-long": 1,
            "extension": 1,
            "too-many-links": 1,
        }


@pytest.mark.parametrize(
    ("body", "headers", "links"),
    [
        ("<meta name=robots content=nofollow><a href=/a>x</a>", (HTML,), []),
        ("<a href=/a>x</a>", (HTML, ("X-Robots-Tag", "nofollow")), []),
        ("<a href=/a>x</a>", (HTML, ("X-Robots-Tag", "otherbot: nofollow")), ["http://h.example/a"]),
        ("<a href=/a>x</a>", (HTML, ("X-Robots-Tag", "gregor: none")), []),
    ],
)
def test_pages_that_ask_for_it_give_no_links(
    tmp_path: Path, body: str, headers: tuple[tuple[str, str], ...], links: list[str]
) -> None:
    with staged(tmp_path) as stage:
        assert stage.page(body, headers=headers).urls() == links
        assert stage.commit().verdicts() == ({} if links else {"robots-nofollow": 1})


def test_a_redirect_is_a_link_of_the_same_depth(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        moved = (("Location", "/new"),)
        (found,) = stage.page(status=301, headers=moved, depth=3, hops=2, redirects=1).discovered()
        assert (found.kind, found.paths, found.depth, found.hops, found.redirects) == ("redirect", ("/new",), 3, 2, 2)


def test_redirects_end_after_five_and_a_redirect_to_itself_is_a_known_url(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        assert stage.page(status=302, headers=(("location", "/b"),), redirects=5, hops=1).urls() == []
        assert stage.page(status=302, headers=(("location", "#x"),), hops=1).urls() == []
        assert stage.page(status=302, headers=(("location", "http://other.test/"),), hops=1).urls() == []
        assert stage.page(status=304, headers=()).urls() == []
        assert stage.commit().verdicts() == {"redirect-limit": 1, "scope-host": 1}


def test_a_redirect_of_a_seed_takes_the_scope_along(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        stage.page(status=301, headers=(("location", "http://www.h.example/"),))
        assert stage.urls() == ["http://www.h.example/"]
        assert [one.server for one in stage.control()] == ["www.h.example"]
        stage.commit().page("<a href=/a>x</a>", url="http://www.h.example/", redirects=1)
        assert stage.urls() == ["http://www.h.example/a"]
        assert stage.control() == [], "once is enough"


def test_the_scope_of_a_seed_is_heard_from_others(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        body = "<a href=http://www.h.example/a>x</a>"
        assert stage.page(body, hops=1).commit().urls() == []
        assert stage.hear(SeedScope(server="www.h.example")).page(body, hops=1).urls() == ["http://www.h.example/a"]


@pytest.mark.parametrize("status", [404, 500, 204])
def test_other_answers_have_no_links(tmp_path: Path, status: int) -> None:
    with staged(tmp_path) as stage:
        assert stage.page("<a href=/a>x</a>" if status != 204 else "", status=status).urls() == []


def test_robots_names_sitemaps_and_sitemaps_name_urls_of_their_host(tmp_path: Path) -> None:
    xml = (("Content-Type", "application/xml"),)
    sitemap = (
        b"<urlset><url><loc>http://h.example/a</loc><lastmod>1970-01-02</lastmod></url>"
        b"<url><loc>http://h.example/b</loc></url><url><loc>http://other.test/c</loc></url></urlset>"
    )
    with staged(tmp_path, ANY) as stage:
        stage.page(b"Sitemap: /s.xml.gz\n", url="http://h.example/robots.txt", kind="robots", headers=())
        (named,) = stage.discovered()
        assert (named.kind, named.paths, named.depth) == ("sitemap", ("/s.xml.gz",), 1)
        stage.page(gzip.compress(sitemap), url="http://h.example/s.xml.gz", headers=xml, hops=1)
        (found,) = stage.discovered()
        assert (found.kind, found.paths, found.lastmods_ms) == ("sitemap", ("/a", "/b"), (86_400_000, 0))
        assert (found.depth, found.hops) == (1, 2)
        assert stage.commit().verdicts() == {"sitemap-off-host": 1}
        stage.page(
            b"Sitemap: http://h.example/s.xml.gz\n", url="http://other.test/robots.txt", kind="robots", headers=()
        )
        stage.page(sitemap, url="http://h.example/s.xml.gz", headers=xml, hops=1)
        assert "http://other.test/c" in stage.urls(), "its own robots.txt named the sitemap"


def test_what_a_robots_file_was_redirected_to_is_a_link_like_any_other(tmp_path: Path) -> None:
    with staged(tmp_path, 'crawl.scope = "domains"') as stage:
        # What the fetcher keeps of http://h.example/robots.txt when that leads to the first page of www.
        stage.page(b"", url="http://www.h.example/", kind="robots", headers=())
        stage.page(b"", status=301, headers=(("Location", "http://www.h.example/"),))
        assert stage.urls() == ["http://www.h.example/"]


@pytest.mark.parametrize(("path", "vouches"), [("/robots.txt", True), ("/uploads/mine.txt", False)])
def test_a_server_vouches_by_its_own_robots_file_alone(tmp_path: Path, path: str, vouches: bool) -> None:
    with staged(tmp_path, ANY) as stage:
        # http://h.example/robots.txt may lead wherever its owner wants it to.
        stage.page(b"Sitemap: http://h.example/s.xml\n", url=f"http://other.test{path}", kind="robots", headers=())
        assert stage.urls() == ["http://h.example/s.xml"]
        sitemap = b"<urlset><url><loc>http://other.test/c</loc></url></urlset>"
        stage.page(sitemap, url="http://h.example/s.xml", headers=(("Content-Type", "application/xml"),), hops=1)
        assert stage.urls() == (["http://other.test/c"] if vouches else [])


@pytest.mark.parametrize("url", ["http://www.h.example/robots.txt", "http://h.example/real.txt"])
def test_a_server_vouches_by_the_file_that_its_robots_txt_is_redirected_to(tmp_path: Path, url: str) -> None:
    with staged(tmp_path, ANY) as stage:
        sitemap = "http://www.h.example/s.xml"
        stage.page(f"Sitemap: {sitemap}\n".encode(), url=url, kind="robots", headers=(), robots_of="h.example")
        entries = b"<urlset><url><loc>http://h.example/a</loc></url><url><loc>http://other.test/b</loc></url></urlset>"
        stage.page(entries, url=sitemap, headers=(("Content-Type", "application/xml"),), hops=1)
        assert "http://h.example/a" in stage.urls()
        assert "http://other.test/b" not in stage.urls()


def test_lists_that_lead_to_lists_become_deeper_with_each(tmp_path: Path) -> None:
    plain = (("Content-Type", "text/plain"),)
    with staged(tmp_path) as stage:
        depth, hops, depths = 0, 0, []
        for number in range(6):
            url = "http://h.example/robots.txt" if number == 0 else f"http://h.example/s?{number}"
            body = f"{'Sitemap: ' if number == 0 else ''}http://h.example/s?{number + 1}\n"
            kind = "pages" if number else "robots"
            (found,) = stage.page(body, url=url, headers=plain, kind=kind, depth=depth, hops=hops).discovered()
            assert found.kind == "sitemap"
            depth, hops = found.depth, found.hops
            depths.append(depth)
    assert depths == [1, 1, 1, 2, 3, 4], "sitemap, sitemap of an index, its entries; and then as any link"


def test_a_list_that_a_page_links_to_is_no_deeper_and_no_nearer_than_a_page(tmp_path: Path) -> None:
    headers = (("Content-Type", "text/plain"),)
    with staged(tmp_path) as stage:
        (found,) = stage.page("http://h.example/a\n", headers=headers, depth=4, hops=2).discovered()
    assert (found.kind, found.depth, found.hops) == ("sitemap", 5, 3)


def test_a_sitemap_is_tried_only_when_asked(tmp_path: Path) -> None:
    robots = "http://h.example/robots.txt"
    with staged(tmp_path) as stage:
        assert stage.page(b"", url=robots, kind="robots", status=404).urls() == []
    with staged(tmp_path, "[extract]\nprobe_sitemap = true") as stage:
        assert stage.page(b"", url=robots, kind="robots", status=404).urls() == ["http://h.example/sitemap.xml"]


def test_entries_of_a_feed_are_links_one_deeper(tmp_path: Path) -> None:
    body = b"<rss><channel><item><link>http://h.example/1</link></item></channel></rss>"
    with staged(tmp_path) as stage:
        (found,) = stage.page(body, headers=(("Content-Type", "application/rss+xml"),), depth=2).discovered()
    assert (found.kind, found.paths, found.depth) == ("feed", ("/1",), 3)


def test_requisites_may_lie_one_step_outside_of_the_scope(tmp_path: Path) -> None:
    body = "<img src=http://cdn.test/a.png><a href=http://cdn.test/a.png>x</a><link rel=stylesheet href=/s.css>"
    with staged(tmp_path) as stage:
        assert stage.page(body).urls() == []
    with staged(tmp_path, "[extract]\nrequisites = true") as stage:
        found = {one.server: one for one in stage.page(body, depth=2).discovered()}
        assert {one.kind for one in found.values()} == {"requisite"}
        assert (found["cdn.test"].paths, found["cdn.test"].depth) == (("/a.png",), 2)
        css = (("Content-Type", "text/css"),)
        assert stage.page("b{src:url(http://cdn.test/f)}", url="http://h.example/s.css", headers=css, hops=1).urls()
        assert not stage.page("b{src:url(http://cdn.test/g)}", url="http://cdn.test/s.css", headers=css, hops=1).urls()


def test_rules_of_the_configuration_make_urls_canonical(tmp_path: Path) -> None:
    with staged(tmp_path, "[url]\ndrop_tracking = true\nsort_query = true\nmax_length = 64") as stage:
        body = f"<a href='/a?b=1&a=2&utm_source=x'>x</a><a href='/a?a=2&b=1'>x</a><a href=/{'x' * 60}>x</a>"
        assert stage.page(body).urls() == ["http://h.example/a?a=2&b=1"]


def test_a_link_header_is_joined_to_the_page_and_not_to_its_base(tmp_path: Path) -> None:
    headers = (HTML, ("Link", "<n>; rel=next"))
    with staged(tmp_path) as stage:
        page = stage.page("<base href=/other/><a href=x>x</a>", url="http://h.example/d/", headers=headers)
        assert page.urls() == ["http://h.example/d/n", "http://h.example/other/x"]


def test_many_links_to_one_server_are_several_records(tmp_path: Path) -> None:
    body = "".join(f"<a href=/{n}>x</a>" for n in range(2500))
    with staged(tmp_path) as stage:
        found = stage.page(body).discovered()
    assert [len(one.paths) for one in found] == [1000, 1000, 500]


@pytest.mark.parametrize("hrefs", [0, 50, 100_000])
def test_relative_links_are_not_confused_between_directories(tmp_path: Path, hrefs: int) -> None:
    body = "<a href=x>x</a><a href=../y>x</a><a href=?q>x</a><a href=/z>x</a><a href=https:w>x</a>"
    with staged(tmp_path, f"crawl.scope = 'any'\n[filter]\nhrefs = {hrefs}") as stage:
        for _ in range(2):
            stage.page(body, url="http://h.example/a/b/1").page(body, url="http://h.example/a/b/2")
            stage.page(body, url="http://h.example/c/3").commit()
        assert stage.urls() == [
            "http://h.example/a/b/1?q",
            "http://h.example/a/b/2?q",
            "http://h.example/a/b/x",
            "http://h.example/a/y",
            "http://h.example/c/3?q",
            "http://h.example/c/x",
            "http://h.example/y",
            "http://h.example/z",
            "https://w/",
        ]


def test_a_restart_remembers_only_where_the_crawl_stands_as_it_did(tmp_path: Path) -> None:
    body = "<a href=/a>x</a><a href=/b>x</a>"
    with staged(tmp_path, warm=True) as stage:
        assert len(stage.page(body).commit().urls()) == 2
    with staged(tmp_path, warm=True) as stage:
        stage.stage.assigned(0, _at(1))
        assert stage.page(body).commit().urls() == [], "the same position: the store is used"
    with staged(tmp_path, warm=True) as stage:
        stage.stage.assigned(0, _at(7))
        assert len(stage.page(body).commit().urls()) == 2, "another position: it is emptied"
    with staged(tmp_path) as stage:
        stage.stage.assigned(0, _at(1))
        assert len(stage.page(body).commit().urls()) == 2, "not to be used again"


def _at(offset: int) -> Assignment:
    return Assignment(positions={"pages": Position(offset)}, ends={"pages": offset}, state=None)


def test_a_url_beyond_the_limits_is_sent_again_when_a_shorter_way_is_found(tmp_path: Path) -> None:
    with staged(tmp_path, "crawl.max_depth = 3\ncrawl.max_hops = 9") as stage:
        for depth, hops, sent in ((3, 1, 1), (5, 1, 0), (2, 9, 0), (2, 8, 1), (1, 1, 0)):
            stage.page("<a href=/a>x</a>", url=f"http://h.example/{depth}-{hops}", depth=depth, hops=hops).commit()
            assert len(stage.urls()) == sent, (depth, hops)


def test_a_sitemap_tells_of_changes_to_known_urls_where_pages_are_visited_again(tmp_path: Path) -> None:
    sitemap = b"<urlset><url><loc>http://h.example/a</loc><lastmod>2024-01-01</lastmod></url></urlset>"
    for mode, sent in (("off", 0), ("fixed", 1)):
        with staged(tmp_path, f'revisit.mode = "{mode}"') as stage:
            stage.page("<a href=/a>x</a>").commit().urls()
            stage.page(sitemap, url="http://h.example/s.xml", headers=(("Content-Type", "text/xml"),))
            assert len(stage.urls()) == sent


def test_a_page_whose_coding_could_not_be_undone_is_not_read_and_has_a_verdict(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        page = stage.page(
            "<a href=/a>x</a>", headers=(HTML, ("Content-Encoding", "gzip"), ("Link", "</b>; rel=next")), undecoded=True
        )
        assert page.urls() == ["http://h.example/b"], "only its headers speak"
        assert stage.commit().verdicts() == {"undecodable": 1}


def test_a_redirect_whose_body_could_not_be_decoded_is_followed_all_the_same(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        assert stage.page("", headers=(("Location", "/b"),), status=302, undecoded=True).urls() == [
            "http://h.example/b"
        ]
        assert stage.commit().verdicts() == {}
