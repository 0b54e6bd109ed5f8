"""Charsets of pages against headless Chromium: labels, bytes, queries, and whole pages."""

import asyncio
from pathlib import Path

import ada_url
import endec
import pytest
from msgspec import Struct
from webencodings.labels import LABELS  # type: ignore[import-untyped]

from tests.workers.extractor.browser import Browser, Crafted, Seen, ask_browser
from workers.extractor.charset import decode, encode_query
from workers.extractor.links import extract

ENCODINGS = sorted(set(LABELS.values()) - {"replacement"})
MULTI_BYTE = ("big5", "euc-jp", "euc-kr", "gb18030", "gbk", "iso-2022-jp", "shift_jis", "utf-16be", "utf-16le", "utf-8")
ASCII_COMPATIBLE = [encoding for encoding in ENCODINGS if not encoding.startswith("utf-16")]
TWO_CHARACTERS = {b"\x88\x62": "Ê̄", b"\x88\x64": "Ê̌", b"\x88\xa3": "ê̄", b"\x88\xa5": "ê̌"}
"""Big5 sequences that the standard makes two characters of, and Chromium one half of a surrogate pair."""
MANY_CHARACTERS = ((1, 0xD7FF), (0xE000, 0x10FFF), (0x1F400, 0x1F4FF))
FEW_CHARACTERS = ((1, 0x26FF), (0xF700, 0x10000))
"""All that encodings of one byte have, and more."""
CHARACTERS = "".join(f"&#{ord(one)};" for one in "ä表¥a\x1b‾\\表🐛ж表\x0e表ｱ¥−€x")


def _high_bytes(encoding: str) -> bytes:
    """Each in a path and in a query; a lead byte meets the "?", the quote or another byte behind it."""
    # Chromium reads one more character by the other table after a broken one that began like this.
    high = [bytes((byte,)) for byte in range(0x80, 0x100) if (encoding, byte) != ("euc-jp", 0x8F)]
    first = b"".join(b'<a href="/%b-?%b"></a>' % (byte, byte) for byte in high)
    return first + b"".join(b'<a href="/%b@?%b\xa1"></a>' % (byte, byte) for byte in high)


def _by_header(encoding: str) -> Crafted:
    return Crafted(
        f"text/html; charset={encoding}", b'<a href="/?%b"></a>' % CHARACTERS.encode() + _high_bytes(encoding)
    )


def _pages() -> dict[str, Crafted]:
    link, meta, xml = b'<a href="/\xe4?\xe4\x81"></a>', b"<meta charset=%b>", b"<?xml version='1.0' encoding='%b'?>"
    wide = '\x00<a href="/ä表?ä表🐛"></a>'
    koi = "text/html; charset=koi8-r"
    pages = {f"{encoding} by header": _by_header(encoding) for encoding in ASCII_COMPATIBLE}
    for label in ("windows-1251", "gbk", "utf-16", "x-user-defined", "hz-gb-2312", "iso-2022-kr", "replacement"):
        named = label.encode()
        pages[f"{label} by meta"] = Crafted("text/html", meta % named + link)
        pages[f"{label} by XML declaration"] = Crafted("text/html", xml % named + link)
        pages[f"{label} by header"] = Crafted(f"text/html; charset={label}", link + b" ")
        pages[f"{label} by meta, koi8-r by header"] = Crafted(koi, meta % named + link)
        pages[f"koi8-r by meta, {label} by header"] = Crafted(
            f"text/html; charset={label}", meta % b"koi8-r" + link + b" "
        )
    for codec, mark in (("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        body = mark + wide.encode(codec)
        pages[f"mark of {codec}"] = Crafted("text/html", body)
        pages[f"mark of {codec} against a header"] = Crafted(koi, body)
        pages[f"mark of {codec} against a meta element"] = Crafted("text/html", mark + meta % b"koi8-r" + body)
        pages[f"{codec} by header"] = Crafted(f"text/html; charset={codec.replace('16-', '16')}", wide.encode(codec))
        pages[f"a broken end of {codec}"] = Crafted("text/html", body + b"\xd8")
    pages["lone surrogates"] = Crafted(
        "text/html; charset=utf-16le",
        '<a href="/\ud800x\udc00\udc00?\ud800\ud800"></a>'.encode("utf-16-le", "surrogatepass"),
    )
    pages["modes of iso-2022-jp"] = Crafted(
        "text/html; charset=iso-2022-jp",
        b'<a href="/\x1b$BI=\x1b(J\\~\x1b(I1\x1b(B?\x1b$BI=\x1b(J\\\x1b(B\x1b$@I=\x1b(B"></a>',
    )
    pages["four bytes"] = Crafted(
        "text/html; charset=gbk", b'<a href="/\x81\x30\x81\x30\x94\x39\xda\x33?\x94\x39\xda\x33\x80"></a>'
    )
    return pages


PAGES = _pages()


class Told(Struct, frozen=True):
    """Everything that the browser was asked."""

    address: str
    names: dict[str, str]
    texts: dict[str, list[str]]
    queries: dict[str, list[str]]
    pages: dict[str, Seen]


def _asked(encoding: str) -> tuple[tuple[int, int], ...]:
    return MANY_CHARACTERS if encoding in MULTI_BYTE else FEW_CHARACTERS


async def _questions(browser: Browser) -> Told:
    return Told(
        browser.address,
        {label: await browser.name_of(label) for label in LABELS},
        {name: await browser.texts_of(name, [1, 2] if name in MULTI_BYTE else [1]) for name in ENCODINGS},
        {name: [one for bounds in _asked(name) for one in await browser.queries(name, *bounds)] for name in ENCODINGS},
        {name: await browser.see(page) for name, page in PAGES.items()},
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return asyncio.run(ask_browser(Path(tmp_path_factory.mktemp("browser")) / "home", _questions))


def test_a_label_means_the_encoding_that_a_browser_takes_it_for(told: Told) -> None:
    ours = {label: decode(b"", f"text/html; charset={label}").charset for label in LABELS}
    assert ours == told.names


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_byte_and_every_two_bytes_are_the_text_that_a_browser_reads(told: Told, encoding: str) -> None:
    sequences = [bytes((byte,)) for byte in range(256)]
    if encoding in MULTI_BYTE:
        sequences += [bytes((first, second)) for first in range(256) for second in range(256)]
    different = {
        sequence: theirs
        for sequence, theirs in zip(sequences, told.texts[encoding], strict=True)
        if _text(sequence, encoding) != theirs
    }
    if encoding == "big5":
        assert {sequence: _text(sequence, encoding) for sequence in different} == TWO_CHARACTERS
    else:
        assert different == {}


def _text(sequence: bytes, encoding: str) -> str:
    # A mark at the beginning of a page would be cut off.
    return decode(b"  " + sequence, f"text/html; charset={encoding}").text.removeprefix(_BLANKS[encoding])


_BLANKS = {encoding: endec.decode(b"  ", encoding) for encoding in ENCODINGS}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_character_is_in_a_query_what_a_browser_asks_for(told: Told, encoding: str) -> None:
    characters = [chr(code) for first, last in _asked(encoding) for code in range(first, last + 1)]
    different = [
        (character, theirs, ours)
        for character, theirs in zip(characters, told.queries[encoding], strict=True)
        if (ours := ada_url.URL(encode_query(f"?{character}", encoding), base=told.address).search) != theirs
    ]
    assert different == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_charset_and_the_links_that_it_has_in_a_browser(told: Told, name: str) -> None:
    page, seen = PAGES[name], told.pages[name]
    read = extract(page.body, page.content_type, told.address)
    ours = {ada_url.URL(link.href, base=told.address).href for link in read.links}
    assert (read.charset, ours) == (seen.charset, set(seen.links))
