"""One entry point for each reader of what strangers write: any bytes are answered, within bounds, and alike by whoever reads them.

``READERS`` maps names to functions of bytes that raise when something that must always hold does not. `make fuzz` puts what a
coverage-guided fuzzer thinks of to them, and test_corpus.py what is kept in corpus/.
"""

import gzip
from collections.abc import Callable
from typing import Final

from gregor.url.canonical import Url, UrlRefusal, join, split
from gregor.url.domain import registered_domain
from gregor.url.links import Joiner, join_many
from schemas.codec import encode
from schemas.pages import FACTS_HEADER, PageFacts, decode_facts
from tests.fuzz.pages import read_page
from tests.fuzz.tokens import page_of
from workers.extractor.charset import decode, encode_query
from workers.extractor.headers import MOST_HEADER_LINKS, header_links
from workers.extractor.links import is_html, redirect
from workers.extractor.page_facts import read_text
from workers.extractor.page_links import RawLink, refresh_target
from workers.extractor.reading import ReadSettings, read
from workers.extractor.requisites import css_urls, srcset
from workers.extractor.robots_meta import from_headers
from workers.extractor.sitemaps import ListLimits, form_of, read_list, robots_sitemaps
from workers.fetcher.decode import DecodingFailed, decoder_of
from workers.fetcher.robots import rules_of

Reader = Callable[[bytes], None]

PAGE: Final = "http://h.example/a/b?c"
MOST_TEXT: Final = 10_000
MOST_URLS: Final = 50
MOST_DECODED: Final = 1 << 22
LONGEST_HREF: Final = 1 << 18
LARGEST_INTEGER: Final = 2**63 - 1
TYPES: Final = (
    *("text/html", "text/html; charset=utf-8", "text/html; charset=windows-1252", "text/html; charset=shift_jis"),
    *("text/html; charset=utf-16le", "text/html; charset=gbk", "text/html; charset=iso-2022-jp", "text/plain"),
    *("application/xml", "application/xhtml+xml", "application/gzip", "text/css", "", "TEXT/HTML;CHARSET = 'big5'"),
)
CODINGS: Final = ("gzip", "deflate", "br", "zstd", "gzip, br", "identity", "x-gzip, deflate", "gzip, gzip")


def split_first(data: bytes, kinds: tuple[str, ...]) -> tuple[str, bytes]:
    """Which of the kinds the first byte stands for, and the rest."""
    return (kinds[data[0] % len(kinds)], data[1:]) if data else (kinds[0], b"")


def check_links(links: list[RawLink], page: str) -> None:
    """Each leads somewhere or is refused, is a record, and stands for itself."""
    joiner = Joiner(page)
    for link in links:
        check_href(joiner, page, link.href)
        assert link.times > 0
        assert 0 <= link.lastmod_ms <= LARGEST_INTEGER
    encode([link.href for link in links])


def check_href(joiner: Joiner, page: str, href: str) -> None:
    url = joiner.join(href)
    assert url == join(page, href), "the short cuts agree with the parser"
    if isinstance(url, Url):
        check_url(url)


def check_url(url: Url) -> None:
    assert split(url.text) == url, "canonical is canonical"
    assert url.server
    assert url.path.startswith("/")
    assert url.text.isascii()
    assert url.text.isprintable()
    assert registered_domain(url.server)


def page(data: bytes) -> None:
    """Links of a page: by expressions, by lexbor, by libxml2 and by the native reader."""
    content_type, body = split_first(data, TYPES)
    check_links(read_page(body, content_type, PAGE), PAGE)


def pieces(data: bytes) -> None:
    """The same of a page that is put together from the words of HTML."""
    check_links(read_page(page_of(data[:200]).encode(), "text/html; charset=utf-8", PAGE), PAGE)


def text(data: bytes) -> None:
    """Title, main text and language."""
    content_type, body = split_first(data, TYPES)
    found = read_text(body, content_type, (("content-language", content_type),), MOST_TEXT)
    assert len(found.text.encode("utf-8", "replace")) <= MOST_TEXT
    encode([found.text, found.language])


def charset(data: bytes) -> None:
    """From bytes to text, and queries back."""
    content_type, body = split_first(data, TYPES)
    found = decode(body, content_type)
    assert found.utf8.decode() == found.text.encode("utf-8", "replace").decode(), "both are the same text"
    assert len(found.text) <= len(body)
    href = found.text[:2000]
    written = encode_query(href, found.charset)
    assert written.partition("?")[0] == href.partition("?")[0] or "#" in href
    assert encode_query(written, found.charset) == written, "what is written once stays so"


def sitemap(data: bytes) -> None:
    """Sitemaps, feeds and lists, packed or not."""
    content_type, body = split_first(data, TYPES)
    limits = ListLimits(MOST_URLS, 1 << 20)
    for given in (body, gzip.compress(body, mtime=0)):
        form = form_of(content_type, given)
        for chosen in {form or "sitemap", "feed"}:
            found = read_list(given, content_type, "sitemap" if chosen == "sitemap" else "feed", limits)
            assert len(found.links) <= MOST_URLS
            assert found.dropped >= 0
            assert all(len(link.href) <= LONGEST_HREF for link in found.links)
            check_links(found.links, PAGE)


def robots(data: bytes) -> None:
    """robots.txt: the rules for this crawler, which are the same when they are read again, and the sitemaps."""
    cut, body = split_first(data, ("", "cut"))
    rules = rules_of(body, bool(cut), "gregor", "http", 0)
    assert 0 <= rules.crawl_delay_ms <= LARGEST_INTEGER
    encode(rules)
    again = rules_of(rules.text.encode("utf-8", "replace"), False, "gregor", "http", 0)
    assert again.verdict == rules.verdict
    assert sorted(again.text.splitlines()) == sorted(rules.text.splitlines()), "what the frontier keeps says the same"
    sitemaps = robots_sitemaps(body)
    assert len(sitemaps) <= 100
    check_links([RawLink(one, "sitemap") for one in sitemaps], PAGE)


def url(data: bytes) -> None:
    """Canonical form: of a page's URL in the first line and its links in the others, each alone and all at once."""
    base, *hrefs = data.decode("utf-8", "replace").split("\n")[:50]
    found = split(base)
    if isinstance(found, Url):
        check_url(found)
    joiner = Joiner(base)
    refused = 0
    for href in hrefs:
        one = joiner.join(href)
        if joiner.page is not None:
            assert one == join(base, href), "the short cuts agree with the parser"
        refused += isinstance(one, UrlRefusal)
        if isinstance(one, Url):
            check_url(one)
    many = join_many(base, hrefs)
    assert sum(many.refused.values()) == refused
    assert sum(count for links in many.servers.values() for *_, count in links) == len(hrefs) - refused


def headers(data: bytes) -> None:
    """Whatever stands in a response's headers, one a line."""
    lines = data.decode("latin-1").split("\n")[:50]
    found = header_links([("Link", line) for line in lines])
    assert len(found) <= MOST_HEADER_LINKS
    check_links([*found, *map(redirect, lines)], PAGE)
    from_headers(lines, "gregor")
    for line in lines:
        is_html(line, data)
        decode(data[:1000], line)
        check_links([RawLink(target, "refresh") for target in [refresh_target(line)] if target is not None], PAGE)
        check_links([RawLink(one, "requisite") for one in [*srcset(line), *css_urls(line)]][:1000], PAGE)


def coding(data: bytes) -> None:
    """Content codings: pieces of a bounded size, or one typed failure."""
    name, body = split_first(data, CODINGS)
    decoder = decoder_of(name)
    if decoder is None:
        return
    size = 0
    try:
        for start in range(0, len(body), 1000):
            for piece in decoder.pieces(body[start : start + 1000]):
                assert len(piece) <= 1 << 20
                size += len(piece)
                if size > MOST_DECODED:
                    return
    except DecodingFailed:
        pass


def response(data: bytes) -> None:
    """A record of ``pages``: its facts in the first line, its body in the others."""
    header, _, body = data.partition(b"\n")
    try:
        facts = decode_facts(header)
    except ValueError:
        facts = PageFacts(
            server="h.example",
            path="/a",
            lease=FACTS_HEADER,
            status=200,
            response_headers=(("content-type", header.decode("latin-1")),),
        )
    settings = ReadSettings(text=True, probe_sitemap=True, max_text_bytes=MOST_TEXT)
    reading = read(facts, body, settings)
    if isinstance(split(reading.base), Url):
        check_links(reading.found, reading.base)
    encode([reading.title, reading.page_text.text])


READERS: Final[dict[str, Reader]] = {
    one.__name__: one for one in (page, pieces, text, charset, sitemap, robots, url, headers, coding, response)
}


def repeated(data: bytes, size: int) -> None:
    """A reader, chosen by the first byte, of the rest over and over: time and memory must not grow faster than what is read."""
    name, rest = split_first(data, tuple(READERS))
    prefix, rest = rest[:1], rest[1:]
    if rest:
        READERS[name](prefix + rest * (size // len(rest)))


if __name__ == "__main__":
    print(*READERS, repeated.__name__)
