"""Charsets of pages."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS  # type: ignore[import-untyped]

from gregor.url.canonical import Url, join
from workers.extractor.charset import decode, encode_query
from workers.extractor.links import extract

pytestmark = pytest.mark.usefixtures("reader")


@pytest.mark.parametrize(
    ("body", "content_type", "text", "source"),
    [
        (b"\xef\xbb\xbfK\xc3\xa4fer", "text/html; charset=latin-1", "Käfer", "bom"),
        (b"\xff\xfeK\x00", "", "K", "bom"),
        (b"\xfe\xff\x00K", "", "K", "bom"),
        ("Käfer".encode("cp1252"), 'text/html; charset="ISO-8859-1"', "Käfer", "header"),
        ("Жук".encode("cp1251"), "text/html;charset=windows-1251", "Жук", "header"),
        (
            b'<META content="text/html; charset=koi8-r" http-equiv=Content-Type>' + "Жук".encode("koi8-r"),
            "text/html",
            None,
            "meta",
        ),
        (b"<meta charset='utf-16'>\xc3\xa4", "", "<meta charset='utf-16'>ä", "meta"),
        (b"<!-- <meta charset=koi8-r> -->\xc3\xa4", "", "<!-- <meta charset=koi8-r> -->ä", "fallback"),
        (b"K\xc3\xa4fer", "text/html", "Käfer", "fallback"),
        (b"K\xe4fer \x93", "text/html", "Käfer “", "fallback"),
        (b"K\xc3\xa4fer", "text/html; charset=no-such", "Käfer", "fallback"),
    ],
)
def test_the_charset_is_found_as_browsers_find_it(
    body: bytes, content_type: str, text: str | None, source: str
) -> None:
    page = decode(body, content_type)
    assert page.source == source
    assert page.text == text if text is not None else page.text.endswith("Жук")


@pytest.mark.parametrize(
    ("head", "charset", "source"),
    [
        ('<?xml version="1.0" encoding="koi8-r"?><html>', "koi8-r", "xml"),
        ("<?xml version='1.0' encoding = 'koi8-r' ?>", "koi8-r", "xml"),
        ('<?xml version="1.0" encoding="utf-16"?>', "utf-8", "xml"),
        ('<?xml version="1.0" encoding="koi8-r"?><meta charset=iso-8859-2>', "iso-8859-2", "meta"),
        (' <?xml version="1.0" encoding="koi8-r"?>', "windows-1252", "fallback"),
        ('<?xml version="1.0"?><p title=\'encoding="koi8-r"\'>', "windows-1252", "fallback"),
        ('<meta name="description" content="Set charset=koi8-r"><meta charset="iso-8859-2">', "iso-8859-2", "meta"),
        ('<meta name="description" content="Set charset=koi8-r">', "windows-1252", "fallback"),
        ("<meta http-equiv=refresh content='1; charset=koi8-r'>", "windows-1252", "fallback"),
        ("<meta content='a; CharSet = \"koi8-r\"' http-equiv='CONTENT-TYPE'>", "koi8-r", "meta"),
        ("<meta http-equiv=content-type content='text/html; charset=koi8-r;x'>", "koi8-r", "meta"),
        ("<meta http-equiv=content-type content='charset=koi8-r' charset=iso-8859-2>", "iso-8859-2", "meta"),
        ("<meta data-charset=koi8-r><meta\ncharset\t=\n'iso-8859-2'>", "iso-8859-2", "meta"),
        ("<meta/charset=koi8-r>", "koi8-r", "meta"),
        ("<meta charset=no-such><meta charset=koi8-r>", "koi8-r", "meta"),
        ("<p title='<meta charset=koi8-r>'>", "windows-1252", "fallback"),
        ("<metadata charset=koi8-r>", "windows-1252", "fallback"),
        ("<meta\x0bcharset=koi8-r>", "windows-1252", "fallback"),
        ("<!-- <meta charset=koi8-r> --><meta charset=iso-8859-2>", "iso-8859-2", "meta"),
        ("<!-- <meta charset=koi8-r>", "windows-1252", "fallback"),
        ("<meta charset=koi8-r", "windows-1252", "fallback"),
    ],
)
def test_a_page_names_its_charset_where_the_standard_looks_for_it(head: str, charset: str, source: str) -> None:
    page = decode(head.encode() + b"\xe4", "text/html")
    assert (page.charset, page.source) == (charset, source)


@given(st.lists(st.sampled_from(["<meta ", "charset", "=", "'", '"', "koi8-r", ">", "<!--", "-->", "<", "/", " "])))
def test_looking_for_a_charset_never_fails(pieces: list[str]) -> None:
    decode(("".join(pieces) * 500).encode(), "text/html")


@pytest.mark.parametrize("label", ["unicode_escape", "zip", "rot13", "utf-7", "idna", "punycode"])
def test_a_label_that_only_python_knows_is_not_followed(label: str) -> None:
    page = decode(b"\\u0041", f"text/html; charset={label}")
    assert (page.text, page.source) == ("\\u0041", "fallback")


@pytest.mark.parametrize("label", sorted(LABELS))
def test_a_page_of_any_charset_of_the_standard_has_a_text_and_links(label: str) -> None:
    declared = f"text/html; charset={label}"
    page = decode(b"\xff<a href=1>\xe4\x1b$)C\x0e!!~{", declared)
    page.text.encode("utf-8")
    encode_query("?q=\u8868\xe4\U0001f41b", page.charset)
    decode(f"<meta charset={label}>".encode(), "")
    links = extract(b"<a href=1>", declared, "http://h/").links
    # Browsers show nothing of what is replaced.
    assert [link.href for link in links] == ([] if page.charset in ("utf-16le", "utf-16be", "replacement") else ["1"])


def test_bytes_without_a_printed_character_are_kept_apart() -> None:
    page = extract(b"<a href=/\x81><a href=/\x8d><a href=?\x81>", "text/html; charset=iso-8859-1", "http://h/")
    urls = [join("http://h/", link.href) for link in page.links]
    assert [url.path for url in urls if isinstance(url, Url)] == ["/%C2%81", "/%C2%8D", "/?%81"]


def test_a_broken_character_does_not_take_the_markup_behind_it_along() -> None:
    for charset in ("gbk", "shift_jis", "big5", "euc-jp", "euc-kr"):
        page = extract(b"\x85<a href='/1\x85'>\xe4", f"text/html; charset={charset}", "http://h/")
        assert [link.href for link in page.links] == ["/1\ufffd"], charset


@given(
    st.binary(max_size=200), st.text(max_size=40) | st.sampled_from(["text/html; charset=shift_jis", ";charset=gbk"])
)
def test_any_bytes_have_a_text(body: bytes, content_type: str) -> None:
    decode(body, content_type).text.encode("utf-8")


@pytest.mark.parametrize(
    ("href", "charset", "path"),
    [
        ("/ä?ä", "windows-1252", "/%C3%A4?%E4"),
        ("/ä?ä", "utf-8", "/%C3%A4?%C3%A4"),
        ("?q=жук#ж", "koi8-r", "/?q=%D6%D5%CB"),
        ("?q=aжb", "windows-1252", "/?q=a%26%231078%3Bb"),
        ("?q=表", "shift_jis", "/?q=%95\\"),
        ("?q=€é", "gbk", "/?q=%80%A8%A6"),
        ("?a=¥b\tc'é#é", "iso-2022-jp", "/?a=%1B(J\\bc%27%26%23233%3B%1B(B"),
        ("?a\x1bé\ud800 ", "iso-2022-jp", "/?a%26%2365533%3B%26%23233%3B%26%2355296%3B"),
    ],
)
def test_queries_are_escaped_in_the_charset_of_their_page(href: str, charset: str, path: str) -> None:
    url = join("http://h/", encode_query(href, charset))
    assert isinstance(url, Url)
    assert url.path == path


def test_a_content_type_takes_no_longer_than_its_length() -> None:
    blanks = " " * 16_000
    began = time.process_time()
    assert decode(b"", f"text/html; charset={blanks};").source == "fallback"
    took = time.process_time() - began
    began = time.process_time()
    for _ in range(200):
        assert decode(b"", f"text/html; charset={blanks}koi8-r").source == "header"
    # Each blank tried with each other one would take thousands of times as long as all of them once.
    assert took < time.process_time() - began
