"""What the fuzzer puts into its inputs beside bytes: the words of the formats that are read."""

from typing import Final

from tests.workers.extractor import test_reduction

HTML: Final = (
    *test_reduction.PIECES,
    *test_reduction.PLAIN_PIECES,
    *("&copy=", "&notit;", "&#0;", "&#xD800;", "&#x110000;", "&#x80;", "\x0b", "\x00", "\ufeff", "é", "\u2028"),
    *(
        "<image>",
        "<isindex>",
        "<ruby>",
        "<rp>",
        "<keygen>",
        "<dialog>",
        "<annotation-xml encoding=text/html>",
        "<mtext>",
    ),
    *(" charset=", "<meta charset=utf-16>", "<meta http-equiv=refresh content='1;url=x'>", "<main>", "<html lang=x>"),
)
# fmt: off
ATTRIBUTES: Final = (
    "", ' href="x"', " href='x'", " href=x", ' HREF="y"', ' href="x#y"', ' href="x&amp;y"', ' href="&#38;"', ' rel="nofollow"',
    " REL='ugc'", " Rel", ' class="c"', ' title="a > b"', "\nid=i", "\x0bdata-href", " /",
)
"""Sixteen, half a byte each."""
XML: Final = (
    "<?xml version='1.0'?>", "<?xml version='1.0' encoding='utf-16'?>", "<urlset>", "</urlset>", "<sitemapindex>", "<url>", "</url>",
    "<sitemap>", "</sitemap>", "<loc>", "</loc>", "<lastmod>", "</lastmod>", "2020-01-02", "T00:00:00Z", "<image:loc>", "</image:loc>",
    "<rss>", "<channel>", "<item>", "</item>", "<link>", "</link>", "<guid isPermaLink='false'>", "</guid>", "<feed xml:base='b'>",
    "<entry>", "</entry>", "<link href='x' rel='next'/>", "<![CDATA[", "]]>", "<!DOCTYPE x [", "<!ENTITY a 'b'>", "]>", "&a;", "&amp;", "&",
    "<!--", "-->", "http://h/", "https://h/", "\n", "\r", "\ufeff", "\x1f\x8b",
)
ROBOTS: Final = (
    "User-agent:", "user-agent: gregor", "User-agent: *", "Disallow:", "Allow:", "Crawl-delay:", "Request-rate:", "Sitemap:", "Noindex:",
    "\n", "\r", "\r\n", "\ufeff", "#", "*", "$", "/", "%7e", "%2F", "/index.html", "gregor/1.0", ",", "1e999", "1/0", "9h", "<html>",
)
URLS: Final = (
    "http://", "https://", "//", "../", "./", "..", "%2e", "%2F", "%zz", "%", "?", "#", "@", ":", ":80", ":443", ":99999", "[::1]",
    "0x7f.1", "xn--", "ü", "\u3002", "\u00ad", "\\", "\t", "\n", " ", ";jsessionid=", "utm_source=", "&", "=", "h.example",
    "h.example.", "mailto:",
)
HEADERS: Final = (
    "<x>", ";rel=", ';rel="next"', "rel=canonical", ",", '"', "\\", "noindex", "nofollow", "none", "gregor:", "unavailable_after:",
    "; charset=", "text/html", "utf-8", "url=", "5;", " 1x", "url(", "@import ", "'", ")", "/*", "*/", "\n",
)
CODINGS: Final = ("\x1f\x08\x00", "\x00\x00\x7f\x7f", "\x03\x00", "x\x01", "hello")
# fmt: on
PIECES: Final = tuple(dict.fromkeys(HTML))
ANCHORS_FROM: Final = min(len(PIECES), 240)
TOKENS: Final[dict[str, tuple[str, ...]]] = {
    "page": (*HTML, *ATTRIBUTES),
    "pieces": ("abc",),
    "text": HTML,
    "charset": HTML,
    "sitemap": XML,
    "robots": ROBOTS,
    "url": URLS,
    "headers": (*HEADERS, *URLS),
    "coding": CODINGS,
    "response": (*HTML, *XML, '"response_headers":[["Content-Type","text/html"]]', '"kind":"robots"', '"status":301'),
}


def page_of(data: bytes) -> str:
    """A page put together of words, so that what is small to change is a tag and not a letter: for each byte a piece, and now and then an
    anchor with four attributes, which the next two bytes choose."""
    parts = []
    given = iter(data)
    for byte in given:
        if byte >= ANCHORS_FROM:
            chosen = (half for one in (next(given, 0), next(given, 0)) for half in divmod(one, 16))
            parts.append(f"<a{''.join(ATTRIBUTES[half] for half in chosen)}>y</a>")
        else:
            parts.append(PIECES[byte])
    return "".join(parts)


def dictionary(reader: str) -> str:
    """As libFuzzer reads it; "repeated" is given all of them."""
    chosen = TOKENS.get(reader, tuple(token for tokens in TOKENS.values() for token in tokens))
    return "".join(f'"{_quoted(token)}"\n' for token in dict.fromkeys(chosen) if token)


def _quoted(token: str) -> str:
    return "".join(f"\\x{byte:02X}" for byte in token.encode())
