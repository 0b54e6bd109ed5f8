"""Sitemaps, feeds and the Sitemap lines of robots.txt."""

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.extractor.listed import lastmod_ms
from workers.extractor.page_links import RawLink
from workers.extractor.sitemaps import ListLimits, form_of, read_list, robots_sitemaps

XML = "application/xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URLSET = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset {NAMESPACE} xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> http://h/a?x=1&amp;y=2 </loc><lastmod>2024-03-01</lastmod>
  <image:image><image:loc>http://h/picture.png</image:loc></image:image></url>
<url><lastmod>2024-03-01T12:00:00+02:00</lastmod><loc>http://h/b</loc></url>
<url><priority>1</priority></url></urlset>""".encode()


def links(body: bytes, content_type: str = XML, **limits: int) -> list[RawLink]:
    form = form_of(content_type, body)
    assert form is not None
    return read_list(body, content_type, form, ListLimits(**limits)).links


@pytest.mark.parametrize("body", [URLSET, gzip.compress(URLSET)], ids=["plain", "gzip"])
def test_a_sitemap_names_urls_and_when_they_changed(body: bytes) -> None:
    assert links(body) == [
        RawLink("http://h/a?x=1&y=2", "sitemap", 0, 1709251200000),
        RawLink("http://h/b", "sitemap", 0, 1709287200000),
    ]


@given(st.lists(st.integers(0, len(URLSET)), max_size=5), st.sampled_from([b"", b"\0" * 600, b"padding"]))
def test_a_sitemap_packed_in_several_members_is_read_to_its_end(cuts: list[int], padding: bytes) -> None:
    ends = sorted((0, *cuts, len(URLSET)))
    parts = [URLSET[start:end] for start, end in pairwise(ends)]
    packed = b"".join(map(gzip.compress, parts)) + padding
    assert form_of("application/gzip", packed) == "sitemap"
    read = read_list(packed, XML, "sitemap", ListLimits())
    assert (read.links, read.complete) == (links(URLSET), True)
    assert not read_list(packed[: len(packed) - len(padding) - 9], XML, "sitemap", ListLimits()).complete


def test_the_limit_of_bytes_is_that_of_all_members_together() -> None:
    body = gzip.compress(b"http://h/1\n" + b"\n" * 500_000)
    read = read_list(body * 20, "text/plain", "sitemap", ListLimits(max_bytes=1_200_000))
    assert (len(read.links), read.complete) == (3, False)
    nothing = read_list(gzip.compress(b"") * 50_000 + body, "text/plain", "sitemap", ListLimits())
    assert (len(nothing.links), nothing.complete) == (1, True)


@given(st.binary(max_size=300).map(lambda some: some * 3000))
def test_any_text_is_unpacked_as_gzip_unpacks_it(text: bytes) -> None:
    lines = b"http://h/first\n" + text.replace(b"\n", b"") + b"\nhttp://h/last\n"
    read = read_list(gzip.compress(lines), "text/plain", "sitemap", ListLimits())
    assert (read.links[-1].href, read.complete) == ("http://h/last", True)


def test_an_index_names_sitemaps() -> None:
    body = f"<sitemapindex {NAMESPACE}><sitemap><loc>http://h/1.xml.gz</loc></sitemap></sitemapindex>".encode()
    assert links(body) == [RawLink("http://h/1.xml.gz", "sitemap")]


def test_a_text_of_nothing_but_urls_is_a_sitemap() -> None:
    body = b"\xef\xbb\xbfhttp://h/a\r\n\r\nhttps://h/b\n"
    assert links(body, "text/plain") == [RawLink("http://h/a", "sitemap"), RawLink("https://h/b", "sitemap")]
    assert form_of("text/plain", b"http://h/a is a URL\n") is None
    assert form_of("text/plain", b"See\nhttp://h/a\n") is None
    assert form_of("text/plain", b"") is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b"<rss version='2.0'><channel><link>http://h/</link><item><guid isPermaLink='false'>http://no/</guid>"
            b"<link>http://h/1</link></item><item><guid>http://h/2</guid></item></channel></rss>",
            ["http://h/", "http://h/1", "http://h/2"],
        ),
        (
            b"<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='http://h/feed'/>"
            b"<link rel='next' href='/feed?page=2'/><entry><link rel='edit' href='/edit'/><link href='/1'/></entry></feed>",
            ["/feed?page=2", "/1"],
        ),
        (
            b"<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'><item><link>http://h/3</link></item></rdf:RDF>",
            ["http://h/3"],
        ),
    ],
    ids=["rss", "atom", "rdf"],
)
def test_entries_of_a_feed_are_links(body: bytes, expected: list[str]) -> None:
    assert [link.href for link in links(body)] == expected
    assert {link.kind for link in links(body)} == {"feed"}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", b"<!DOCTYPE html><html><a href=x>"),
        (XML, b"<?xml version='1.0'?><svg/>"),
        (XML, b""),
        ("application/gzip", b"\x1f\x8b not gzip"),
        ("application/gzip", gzip.compress(b"\x7fELF", mtime=0)),
    ],
)
def test_other_documents_are_no_lists(content_type: str, body: bytes) -> None:
    assert form_of(content_type, body) is None


XHTML = (
    b"<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0'><html xmlns='http://www.w3.org/1999/xhtml'>"
)


@pytest.mark.parametrize(
    "body",
    [
        XHTML + b"<head><!-- <rdf:RDF xmlns:rdf='r'> --></head><body><a href=x>x</a>",
        XHTML + b"<body><rss ><a href=x>x</a>",
        b"<!-- <urlset> --><html><a href=x>x</a>",
        b"<?xml-stylesheet <rss > ?><html/>",
        b"<!DOCTYPE html [<!ENTITY feed '<feed >'>]><html/>",
        b"<!-- <rss > ",
    ],
)
@pytest.mark.parametrize("content_type", ["application/xhtml+xml", "text/html", "application/xml"])
def test_a_page_that_speaks_of_feeds_is_none(body: bytes, content_type: str) -> None:
    assert form_of(content_type, body) is None


@pytest.mark.parametrize(
    "prolog",
    [
        b"",
        b"\xef\xbb\xbf\n",
        b"<?xml version='1.0'?>\n<?xml-stylesheet href='s.xsl'?><!-- <html> -- > -->",
        b"<!DOCTYPE rss PUBLIC '-//N' 'http://n/rss.dtd' [ <!ENTITY n '<html>'> ] >\n",
    ],
)
def test_a_list_is_known_by_its_root_whatever_stands_before_it(prolog: bytes) -> None:
    assert form_of(XML, prolog + b"<rss version='2.0'>") == "feed"
    assert form_of(XML, prolog + b"<s:urlset>") == "sitemap"


def test_urls_beyond_the_limit_are_counted() -> None:
    body = b"<urlset>" + b"".join(b"<url><loc>http://h/%d</loc></url>" % n for n in range(30)) + b"</urlset>"
    read = read_list(body, XML, "sitemap", ListLimits(max_urls=10))
    assert (len(read.links), read.dropped, read.complete) == (10, 20, True)
    text = b"".join(b"http://h/%d\n" % n for n in range(30))
    assert read_list(text, "text/plain", "sitemap", ListLimits(max_urls=10)).dropped == 20


def test_a_gzip_bomb_is_unpacked_no_further_than_its_limit() -> None:
    start = b"<urlset><url><loc>http://h/1</loc></url>"
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(start) + b"".join(packer.compress(b" " * 1_000_000) for _ in range(300)) + packer.flush()
    assert len(bomb) < 400_000
    read = read_list(bomb, XML, "sitemap", ListLimits(max_bytes=1_000_000))
    assert [link.href for link in read.links] == ["http://h/1"]
    assert not read.complete


def test_a_bomb_of_entities_stays_what_it_is() -> None:
    entities = "<!ENTITY e0 'ha'>" + "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12))
    body = f"<!DOCTYPE urlset [{entities}]><urlset><url><loc>http://h/&e11;</loc></url></urlset>".encode()
    read = read_list(body, XML, "sitemap", ListLimits())
    assert sum(len(link.href) for link in read.links) < 100


def test_entities_from_outside_are_not_read() -> None:
    body = b"<!DOCTYPE u [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>http://h/&f;</loc></url></urlset>"
    assert all("root" not in link.href for link in read_list(body, XML, "sitemap", ListLimits()).links)


def test_a_sitemap_nested_too_deep_or_cut_off_gives_what_came_before() -> None:
    start = b"<urlset><url><loc>http://h/1</loc></url>"
    for rest in (b"<a>" * 100_000, b"<url><loc>http://h/2</lo"):
        read = read_list(start + rest, XML, "sitemap", ListLimits())
        assert read.links[0].href == "http://h/1"
        assert not read.complete


def test_robots_names_sitemaps_for_everybody() -> None:
    body = b"\xef\xbb\xbfSitemap: http://h/1.xml\nUser-agent: *\nsitemap:/2.xml # here\nSitemap:\nx sitemap: no\nSITEMAP: /2.xml"
    assert robots_sitemaps(body) == ["http://h/1.xml", "/2.xml"]
    assert len(robots_sitemaps(b"".join(b"Sitemap: /%d\n" % n for n in range(500)))) == 100


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-02", 86_400_000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1971", 31_536_000_000),
        ("1970-02", 2_678_400_000),
        ("yesterday", 0),
        ("9999-99-99", 0),
        ("", 0),
    ],
)
def test_dates_of_last_change(text: str, moment: int) -> None:
    assert lastmod_ms(text) == moment


_PIECES = st.sampled_from(
    b"<urlset> <url> <loc> http://h/ </loc> </url> <rss> <item> <link> <feed> <entry> <link/> <?xml?> <!-- ]]> &e; \xff".split()
)


@given(st.one_of(st.binary(max_size=200), st.lists(_PIECES, max_size=20).map(b"".join)), st.booleans())
def test_any_bytes_are_read_or_are_no_list(body: bytes, packed: bool) -> None:
    body = gzip.compress(body) if packed else body
    form = form_of("", body)
    if form is not None:
        assert len(read_list(body, "", form, ListLimits(max_urls=3, max_bytes=100)).links) <= 3
    robots_sitemaps(body)
