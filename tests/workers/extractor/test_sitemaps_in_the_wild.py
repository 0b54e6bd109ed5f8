"""Sitemaps and feeds as servers really send them: not well-formed, cut, mislabelled, in odd encodings."""

import gzip
import time
from collections.abc import Callable

import pytest

from schemas.pages import PageFacts
from workers.extractor import xml_scan
from workers.extractor.reading import Reading, ReadSettings, read
from workers.extractor.sitemaps import ListLimits, form_of

XML = "application/xml"
DAY = 86_400_000


def read_as(body: bytes, content_type: str = XML, **settings: int) -> Reading:
    facts = PageFacts(
        server="h",
        path="/map",
        lease="l",
        status=200,
        scheme="http",
        response_headers=(("Content-Type", content_type),),
    )
    return read(facts, body, ReadSettings(lists=ListLimits(**settings)))


def urls(body: bytes, content_type: str = XML) -> list[str]:
    return [link.href for link in read_as(body, content_type).found]


def entry(inside: str) -> bytes:
    return f"<urlset><url>{inside}</url></urlset>".encode()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://h/a?x=1&y=2", "http://h/a?x=1&y=2"),
        ("http://h/a?x=1&amp;y=2", "http://h/a?x=1&y=2"),
        ("http://h/a?x=1&amp;y=2&z&&w", "http://h/a?x=1&y=2&z&&w"),
        ("http://h/a?x=1&copy=2&lt=3&amp=4", "http://h/a?x=1&copy=2&lt=3&amp=4"),
        ("http://h/?&#65;&#x42;&#67", "http://h/?AB&#67"),
        ("http://h/caf&eacute;", "http://h/café"),
        ("http://h/?a=1&#38;b=2&#x26;c", "http://h/?a=1&b=2&c"),
        ("<![CDATA[http://h/?a=1&b=2&amp;c]]>", "http://h/?a=1&b=2&amp;c"),
        ("http://h/<![CDATA[?a&b]]>&amp;c", "http://h/?a&b&c"),
        ("http://h/?a<b", "http://h/?a<b"),
        ("http://h/?a&unknown;=1", "http://h/?a&unknown;=1"),
        ("\n\u00a0 http://h/blanks\u2000 \t", "http://h/blanks"),
        ("http://h/<!-- not a word -->1", "http://h/1"),
    ],
)
def test_a_url_is_what_its_author_wrote_whether_well_escaped_or_not(text: str, url: str) -> None:
    assert urls(entry(f"<loc>{text}</loc>")) == [url]
    # Wherever the pieces of a long body are cut.
    for padding in range(65_530 - len(text.encode()), 65_540, 7):
        body = b"<urlset><!--" + b" " * (padding - 20) + b"--><url><loc>" + text.encode() + b"</loc></url></urlset>"
        assert urls(body) == [url]


def test_references_in_an_atom_link_are_read_as_in_text() -> None:
    feed = b"<feed><entry><link href='/?a=1&b=2&amp;c=&#51;'/></entry><entry><link href=\"/?q='>'\"/></entry></feed>"
    assert urls(feed) == ["/?a=1&b=2&c=3", "/?q='>'"]


@pytest.mark.parametrize(
    "inside",
    [
        "<loc>http://h/1</loc><url><loc>http://h/2</loc></url>",
        "<loc>http://h/1</loc><url><loc>http://h/2</loc>",
        "<loc>http://h/1</loc><loc>http://h/2</loc>",
        "<loc>http://h/1<loc>http://h/2</loc>",
        "<loc>http://h/1</url><url><loc>http://h/2",
        "<loc>http://h/1<url><loc>http://h/2</loc></url>",
        "<loc>http://h/1</loc></url></url></url><url><loc>http://h/2</loc>",
        "<loc>http://h/1</loc></wrong></url><url><loc>http://h/2</loc>",
        "<loc>http://h/1</loc><priority>1<changefreq></url><url><loc>http://h/2</loc>",
        "<loc>http://h/1</loc></url></urlset><urlset><url><loc>http://h/2</loc>",
        "http://h/1</url><url> http://h/2 ",
        "<loc><url>http://h/1</url></loc></url><url><loc><url><![CDATA[http://h/2]]></url></loc>",
        "<loc/><loc>http://h/1</loc></url><url/><url><loc></loc><loc>http://h/2</loc>",
        "<loc x='>' y=\"'\">http://h/1</loc></url><url\n><loc\t>http://h/2</loc\n>",
    ],
)
def test_no_entry_is_lost_to_tags_that_do_not_match(inside: str) -> None:
    assert urls(entry(inside)) == ["http://h/1", "http://h/2"]


@pytest.mark.parametrize(
    "inside",
    [
        "<image:image><image:loc>http://h/i</image:loc></image:image><loc>http://h/1</loc>",
        "<image:loc>http://h/i</image:loc><loc>http://h/1</loc>",
        "<loc>http://h/1</loc><image:image><image:loc>http://h/i</image:loc></image:image>",
        "<image xmlns='urn:image'><loc>http://h/i</loc></image><loc>http://h/1</loc>",
        "<video:video><video:player_loc>http://h/i</video:player_loc></video:video><loc>http://h/1</loc>",
        "<image:image><image:loc>http://h/i<loc>http://h/1</loc>",
    ],
)
def test_a_picture_is_not_taken_for_the_page_it_is_on(inside: str) -> None:
    assert urls(entry(inside)) == ["http://h/1"]


def test_prefixed_elements_are_read_like_others() -> None:
    body = b"<s:urlset xmlns:s='n'><s:url><i:loc>http://h/i</i:loc><s:loc>http://h/1</s:loc></s:url></s:urlset>"
    assert urls(body) == ["http://h/1"]


def test_a_date_belongs_to_the_url_it_stands_with() -> None:
    body = entry(
        "<lastmod>1970-01-02</lastmod><loc>http://h/1</loc><loc>http://h/2</loc><loc>http://h/3</loc>"
        "<lastmod>1970-01-03</lastmod></url><url><loc>http://h/4</loc>"
    )
    assert [link.lastmod_ms for link in read_as(body).found] == [DAY, 0, 2 * DAY, 0]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("<url><loc>http://h/2</lo", ["http://h/1", "http://h/2"]),
        ("<url><loc>http://h/2</loc><las", ["http://h/1", "http://h/2"]),
        ("<url><loc>http://h/2</loc><image:image", ["http://h/1", "http://h/2"]),
        ("<url><loc>http://h/2<", ["http://h/1", "http://h/2"]),
        ("<url><loc>http://h/2", ["http://h/1"]),
        ("<url><loc><![CDATA[http://h/2", ["http://h/1"]),
        ("<url>http://h/2", ["http://h/1"]),
        ("<ur", ["http://h/1"]),
    ],
)
def test_of_a_cut_sitemap_every_url_is_taken_that_is_whole(end: str, expected: list[str]) -> None:
    read = read_as(f"<urlset><url><loc>http://h/1</loc></url>{end}".encode())
    assert ([link.href for link in read.found], read.complete) == (expected, False)


def test_an_index_may_hold_its_urls_without_loc() -> None:
    body = b"<sitemapindex><sitemap>\nhttp://h/1.xml?a=1&amp;b=2\n</sitemap><sitemap>none</sitemap></sitemapindex>"
    assert urls(body) == ["http://h/1.xml?a=1&b=2"]


def test_an_entry_with_an_entity_of_the_document_s_own_is_left_out() -> None:
    for entity in ("<!ENTITY e SYSTEM 'file:///etc/passwd'>", "<!ENTITY e 'http://elsewhere/'>"):
        body = f"<!DOCTYPE urlset [{entity}]><urlset><url><loc>&e;</loc></url><url><loc>http://h/1?a&b</loc></url></urlset>"
        assert urls(body.encode()) == ["http://h/1?a&b"]


@pytest.mark.parametrize("length", [2_040, 2_048, 5_000, 65_536, 300_000])
@pytest.mark.parametrize("root", ["urlset", "rss"])
def test_a_list_is_known_however_long_what_stands_before_its_root_is(length: int, root: str) -> None:
    form = "sitemap" if root == "urlset" else "feed"
    for start, end in ((b"<!--", b"-->"), (b"<?x ", b"?>"), (b"<!DOCTYPE x [", b"]>"), (b"", b"")):
        body = start + b" " * length + end + f"<{root}></{root}>".encode()
        assert form_of(XML, body) == form
        assert form_of("application/gzip", gzip.compress(body)) == form


MAP = "<urlset><url><loc>http://h/caf\u00e9?\u00fc=\u20ac</loc></url></urlset>"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (MAP.encode("utf-16"), XML),
        (b"\xfe\xff" + MAP.encode("utf-16-be"), XML),
        (MAP.encode("utf-16-le"), XML),
        (MAP.encode("utf-16-be"), XML),
        (("<?xml version='1.0' encoding='utf-16'?>" + MAP).encode("utf-16"), XML),
        (gzip.compress(MAP.encode("utf-16"), mtime=0), "application/gzip"),
        # Written by programs that hold text in UTF-16 and send it in UTF-8.
        (("<?xml version='1.0' encoding='utf-16'?>" + MAP).encode(), XML),
        (MAP.encode(), f"{XML}; charset=utf-16"),
        (("<?xml version='1.0' encoding='windows-1252'?>" + MAP).encode("cp1252"), XML),
        (MAP.encode("cp1252"), f"{XML}; charset=windows-1252"),
        (("<?xml version='1.0' encoding='never-met'?>" + MAP).encode(), XML),
        (("\ufeff \n<?xml version='1.0'?>" + MAP).encode(), XML),
    ],
)
def test_a_sitemap_is_read_in_its_encoding(body: bytes, content_type: str) -> None:
    assert urls(body, content_type) == ["http://h/caf\u00e9?\u00fc=\u20ac"]


@pytest.mark.parametrize("start", [b"", b"\n ", b"\xef\xbb\xbf", b"<!-- made by hand -->\n", b"<?xml version='1.0'?>"])
@pytest.mark.parametrize(
    "content_type", ["text/html", "text/html; charset=utf-8", "application/octet-stream", "x/y", ""]
)
def test_a_sitemap_is_known_by_its_root_whatever_it_is_called(start: bytes, content_type: str) -> None:
    body = start + b"<urlset><url><loc>http://h/1</loc></url></urlset>"
    for sent in (body, gzip.compress(body)):
        read = read_as(sent, content_type)
        assert (read.form, [link.href for link in read.found]) == ("sitemap", ["http://h/1"])


@pytest.mark.parametrize(
    "body",
    [
        b"<!-- <urlset> --><html><a href=x>x</a></html>",
        b"<html><urlset><url><loc>http://h/1</loc></url></urlset><a href=x>x</a></html>",
        b"http://h/1 <a href=x>x</a>",
    ],
)
def test_a_page_stays_a_page(body: bytes) -> None:
    read = read_as(body, "text/html")
    assert (read.form, [link.href for link in read.found]) == ("html", ["x"])


@pytest.mark.parametrize(
    "body",
    [
        b"http://h/1\nhttp://h/2",
        b"http://h/1\rhttp://h/2\r",
        b"http://h/1\r\n\r\nhttp://h/2\r\n",
        b"\nhttp://h/1\n  http://h/2\t\n\n",
        b"http://h/1\nwww.h/no\nhttp://h/2\n",
        b"# All pages\nhttp://h/1\nhttp://h/2\n",
        b"http://h/1\nhttp://h/2\nhttp://h/ is our home\n",
        "http://h/1\nhttp://h/2\n".encode("utf-16"),
        b"\xef\xbb\xbfhttp://h/1\nhttp://h/2\n",
    ],
)
@pytest.mark.parametrize("content_type", ["text/plain", "application/bogus", ""])
def test_a_list_as_text_may_hold_lines_that_are_no_urls(body: bytes, content_type: str) -> None:
    assert urls(body, content_type) == ["http://h/1", "http://h/2"]
    assert urls(gzip.compress(body), content_type) == ["http://h/1", "http://h/2"]


def test_a_list_as_text_may_be_called_a_page() -> None:
    for body in (b"http://h/1\nhttp://h/2", b"\n https://h/1\r\nhttp://h/2\n", b"http://h/1\rno\rhttp://h/2"):
        assert len(urls(body, "text/html")) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"http://h/a is a URL\n",
        b"See\nhttp://h/a\n",
        b"http://h/1\nis where we live,\nand this is why:\n",
        b"this is a bogus sitemap",
        b'{"url": "http://h/1"}',
    ],
)
def test_a_text_that_speaks_of_urls_is_no_list(body: bytes) -> None:
    assert form_of("text/plain", body) is None


def test_the_last_line_of_a_list_that_was_cut_is_no_url() -> None:
    read = read_as(b"http://h/1\nhttp://h/2\nhttp://h/3\n", "text/plain", max_bytes=20)
    assert ([link.href for link in read.found], read.complete) == (["http://h/1"], False)
    cut = gzip.compress(b"".join(b"http://h/%d\n" % n for n in range(50_000)))[:-2_000]
    found = read_as(cut, "text/plain").found
    assert 1_000 < len(found) < 50_000
    assert [link.href for link in found] == [f"http://h/{n}" for n in range(len(found))]


def test_a_list_whose_body_came_in_part_loses_what_was_cut() -> None:
    facts = PageFacts(
        server="h",
        path="/map",
        lease="l",
        status=200,
        truncated="length",
        response_headers=(("Content-Type", "text/plain"),),
    )
    found = read(facts, b"http://h/1\nhttp://h/2\nhttp://h/3", ReadSettings())
    assert ([link.href for link in found.found], found.complete) == (["http://h/1", "http://h/2"], False)


@pytest.mark.parametrize(
    ("feed", "expected"),
    [
        (
            "<feed xml:base='http://b/blog/'><entry><link href='1'/></entry></feed>",
            ["http://b/blog/1"],
        ),
        (
            "<feed xml:base='/blog/'><link rel='next' href='?page=2'/><entry xml:base='sub/'><link href='1'/></entry>"
            "<entry><link xml:base='other/' href='2'/></entry><entry><link href='/3'/></entry></feed>",
            ["http://h/blog/?page=2", "http://h/blog/sub/1", "http://h/blog/other/2", "http://h/3"],
        ),
        (
            "<rss xml:base='http://b/'><channel><item><link>1</link></item></channel></rss>",
            ["http://b/1"],
        ),
        ("<feed xml:base='mailto:x'><entry><link href='1'/></entry></feed>", ["http://h/1"]),
    ],
)
def test_links_of_a_feed_are_joined_to_its_base(feed: str, expected: list[str]) -> None:
    assert urls(feed.encode()) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<!DOCTYPE urlset [<!ENTITY e 'x'>]><urlset><url><loc>http://h/1</loc></url></urlset>", ["http://h/1"]),
        ("<urlset><url></url><url><loc>http://h/1</loc></url></url></urlset>", ["http://h/1"]),
        ("<feed><link href='/home'/><entry><link href='/1'/></entry></feed>", ["/home", "/1"]),
        ("<rss><channel><link>/home</link><item><link>/1</link></item></channel></rss>", ["/home", "/1"]),
        (
            "<urlset><url><loc>http://h/en</loc><x:link rel='alternate' href='http://h/de'/></url></urlset>",
            ["http://h/de", "http://h/en"],
        ),
        ("<rss><channel><item><guid isPermaLink='false'>http://h/1</guid></item></channel></rss>", []),
        ("<urlset><url><loc>www.h/1</loc></url></urlset>", ["www.h/1"]),
        ("www.h/1\nhttp://h/2\nhttp://h/3", ["http://h/2", "http://h/3"]),
    ],
    ids=["DTD", "not well-formed", "home of Atom", "home of RSS", "alternate", "no permalink", "no scheme", "no URL"],
)
def test_what_crawler_commons_reads_otherwise(body: str, expected: list[str]) -> None:
    assert urls(body.encode()) == expected


def test_the_feed_that_an_entry_comes_from_is_not_the_entry() -> None:
    atom = b"<feed><entry><source><link href='/other'/></source><link href='/1'/></entry></feed>"
    assert urls(atom) == ["/1"]


MILLION = 1_000_000
HOSTILE: dict[str, Callable[[], bytes]] = {
    "a tag without end": lambda: b"<urlset><url " + b"a" * 20 * MILLION,
    "an attribute without end": lambda: b"<urlset><url a='" + b"a" * 20 * MILLION,
    "many attributes": lambda: b"<urlset><link href " + b"a " * 30_000 + b"/><link href " + b"b=''" * 8_000 + b"/>",
    "names of attributes": lambda: b"<feed>" + (b"<link " + b"a" * 60_000 + b"/>") * 100,
    "a comment without end": lambda: b"<urlset><!--" + b"- " * 10 * MILLION,
    "CDATA without end": lambda: b"<urlset><url><loc><![CDATA[" + b"] " * 10 * MILLION,
    "a DTD without end": lambda: b"<urlset><!DOCTYPE urlset [" + b"<" * 20 * MILLION,
    "less-than signs": lambda: b"<urlset>" + b"<" * 20 * MILLION,
    "less-than signs apart": lambda: b"<urlset>" + b"< " * MILLION,
    "ampersands": lambda: b"<urlset><url><loc>" + b"&" * 20 * MILLION,
    "ampersands in short texts": lambda: (
        b"<urlset>" + (b"<url><loc>http://h/" + b"&amp" * 16_000 + b"</loc></url>") * 100
    ),
    "a text without end": lambda: b"<urlset><url><loc>" + b"http://h/" * 2 * MILLION,
    "end tags": lambda: b"<urlset>" + b"</x>" * MILLION,
    "depth": lambda: b"<urlset>" + b"<a>" * MILLION,
    "blanks": lambda: b"<urlset " + b" " * 20 * MILLION,
    "empty lines": lambda: b"http://h/1\n" * 3 + b"\r" * 20 * MILLION,
    "short lines": lambda: b"http://h/1\n" * 300 + b"\ra" * MILLION,
    "a line without end": lambda: b"http://h/1\n" * 3 + b"http://h/" + b"a" * 20 * MILLION,
    "members of one byte": lambda: gzip.compress(b"http://h/1\n" * 9 + b"http://h/") + gzip.compress(b"a") * 200_000,
    "members of one byte in a tag": lambda: gzip.compress(b"<urlset><url ") + gzip.compress(b"a") * 200_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_body_costs_more_than_its_length(name: str) -> None:
    """Quadratic work on any of these would not end within the time that a test may take."""
    read = read_as(HOSTILE[name](), "", max_bytes=50_000_000)
    assert read.form == ("feed" if name == "names of attributes" else "sitemap")
    assert sum(len(link.href) for link in read.found) < 10_000_000


def test_tags_in_a_blank_text_cost_no_more_than_others() -> None:
    tags = b" <url></url>" * 60_000
    began = time.process_time()
    read_as(b"<urlset><url>" + tags)
    others = time.process_time() - began
    began = time.process_time()
    read_as(b"<urlset><url><loc>" + tags)
    # A look at all of the blanks before each of them would take a hundred times as long.
    assert time.process_time() - began < 20 * others


def test_more_tags_than_any_list_has_end_its_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_scan, "MOST_TAGS", 1000)
    read = read_as(b"<urlset><url><loc>http://h/1</loc></url>" + b"<a/>" * 1001 + b"</urlset>")
    assert ([link.href for link in read.found], read.complete) == (["http://h/1"], False)
