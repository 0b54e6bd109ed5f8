"""Links of real documentation sites of five generators, against an oracle that shares no code: lxml's tree, XPath and urllib."""

import re
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from lxml import html  # type: ignore[import-untyped]

from gregor.url.links import join_many
from infra.documentation import SITES, pages
from workers.extractor.links import extract

pytestmark = pytest.mark.usefixtures("reader")

HOST = "http://docs.example"
HTML_TYPE = "text/html"
_HOST = re.compile(r"[\w.:-]+")
EVERY = 3
"""One page in so many, which keeps the test short."""
PATHS = (
    "//a/@href | //area/@href | //iframe/@src | //frame/@src",
    "//link[contains(concat(' ', @rel, ' '), ' next ') or contains(concat(' ', @rel, ' '), ' prev ')"
    " or contains(concat(' ', @rel, ' '), ' canonical ')]/@href",
    "//link[contains(concat(' ', @rel, ' '), ' alternate ') and not(contains(@rel, 'stylesheet'))]/@href",
)


def plain(url: str) -> str:
    """A spelling in which percent escapes and an empty path do not differ."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}{unquote(parts.path) or '/'}?{unquote(parts.query)}"


def expected(url: str, body: bytes) -> set[str]:
    tree = html.document_fromstring(body, parser=html.HTMLParser(encoding=declared(body)))
    base = next(iter(tree.xpath("//base/@href")), url)
    hrefs = [str(href) for path in PATHS for href in tree.xpath(path)]
    # To a browser a backslash is a slash.
    joined = (urldefrag(urljoin(urljoin(url, base), href.strip().replace("\\", "/"))).url for href in hrefs)
    parts = ((one, urlsplit(one)) for one in joined)
    # Credentials, and hosts that cannot be one ("http://<server>/"), are refused by rule.
    return {plain(one) for one, part in parts if part.scheme in ("http", "https") and _HOST.fullmatch(part.netloc)}


def declared(body: bytes) -> str:
    return "iso-8859-1" if b"charset=iso-8859-1" in body[:2000].lower() else "utf-8"


def found(url: str, body: bytes) -> set[str]:
    page = extract(body, HTML_TYPE, url)
    assert page.complete
    joined = join_many(page.base, [link.href for link in page.links])
    return {
        plain(f"{scheme}://{server}{path}") for server, links in joined.servers.items() for scheme, path, _, _ in links
    }


@pytest.mark.parametrize("name", SITES)
def test_every_link_of_a_real_site_is_found_and_nothing_else(name: str) -> None:
    links = 0
    for path, file in list(pages(name))[::EVERY]:
        url, body = HOST + path, file.read_bytes()
        ours = found(url, body)
        assert ours == expected(url, body), path
        links += len(ours)
    assert links > 500
