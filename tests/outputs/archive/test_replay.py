"""A small site, crawled by gregor, gone, and replayed by pywb in a browser: its pages, style and images appear."""

import http.server
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import compress, crc32

import pytest

from gregor.outputs.archive.index import build_index
from gregor.outputs.archive.reader import open_archive
from gregor.outputs.archive.sort_key import sort_key
from infra.replay import configuration, pywb, replaying, seen_in_browser
from tests.chaos.processes import gregor
from tests.workers.archiver.pages import NOON_MS, Museum, config, output

HOME = """<!doctype html><html lang="en"><head><title>The museum</title><link rel="stylesheet" href="/style.css"></head>
<body><h1>Insects</h1><img id="beetle" src="/beetle.png"><p><a href="/wing.html?pair=2&amp;Side=left">Wings</a></p>
<script>
addEventListener("load", () => {
  const style = getComputedStyle(document.querySelector("h1"));
  document.body.dataset.seen = style.color + " " + document.getElementById("beetle").naturalWidth;
});
</script></body></html>"""
WING = "<!doctype html><title>Wings</title><p>Folded, and not unfolded since.</p>"
STYLE = "h1 { color: rgb(1, 2, 3); }"


def png(width: int) -> bytes:
    """A picture of one row."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + crc32(kind + data).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + (1).to_bytes(4, "big") + bytes((8, 2, 0, 0, 0))
    row = b"\0" + b"\x7a\x3b\x12" * width
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", compress(row)) + chunk(b"IEND", b"")


ANSWERS = {
    "/": ("text/html; charset=utf-8", HOME.encode()),
    "/wing.html?pair=2&Side=left": ("text/html", WING.encode()),
    "/style.css": ("text/css", STYLE.encode()),
    "/beetle.png": ("image/png", png(17)),
}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, body = ANSWERS.get(self.path, ("text/plain", b""))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The address that the site had, and its archive."""
    folder = tmp_path_factory.mktemp("crawled")
    with site() as address:
        file = folder / "gregor.toml"
        file.write_text(
            f'crawl.seeds = ["{address}/"]\nfetch.delay_s = 0.0\nfetch.allow_addresses = ["127.0.0.0/8"]\n'
            "extract.requisites = true\n"
        )
        with gregor(file, "crawl", "--output", folder / "crawl") as running:
            code, printed = running.wait()
        assert code == 0, printed
    return address, folder / "crawl" / "archive"


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with a page, the same page again, and a 304."""
    folder = tmp_path_factory.mktemp("visited")
    museum = Museum(folder, config())
    day = 24 * 3600 * 1000
    first = output(0, 0, b"<p>as ever</p>", server="museum.test", path="/", digest="aa")
    again = {"server": "museum.test", "path": "/", "visit": 1, "previous_digest": "aa", "previous_ms": NOON_MS}
    same = output(1, 0, b"<p>as ever</p>", digest="aa", fetched_ms=NOON_MS + day, **again)
    unchanged = output(2, 0, b"", digest="", fetched_ms=NOON_MS + 2 * day, status=304, **again)
    museum.append([first, same, unchanged])
    museum.archive_all()
    museum.close()
    return folder / "archive"


def text_at(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())


@pytest.mark.timeout(600)
def test_a_crawled_site_lives_on_in_a_browser(crawled: tuple[str, Path], visited: Path, tmp_path: Path) -> None:
    address, archive = crawled
    for one in (archive, visited):
        build_index(open_archive(one))
    year = time.strftime("%Y")
    with replaying(tmp_path / "pywb", configuration({"museum": archive, "visits": visited})) as pywb_address:
        document = seen_in_browser(f"{pywb_address}/museum/{year}/{address}/", tmp_path / "browser")
        assert "<h1>Insects</h1>" in document
        assert 'data-seen="rgb(1, 2, 3) 17"' in document, "style and image are there"
        wings = f"{address}/wing.html?pair=2&Side=left"
        assert "not unfolded since" in text_at(f"{pywb_address}/museum/{year}/{wings}")
        for day in ("20270115", "20270116", "20270117"):
            assert "as ever" in text_at(f"{pywb_address}/visits/{day}080000id_/http://museum.test/"), day


def test_keys_are_those_of_the_replaying_software() -> None:
    urls = [
        "http://127.0.0.1:8080/", "http://www.example.com/A/B.html?z=1&a=2", "https://example.com:443/a/",
        "http://example.com/?", "http://example.com/%7Ea/%20b", "http://www2.example.com/x?q",
        "http://example.com/a?PHPSESSID=0123456789abcdef0123456789abcdef&b=1", "http://example.com/a?b&a=&c",
        "http://xn--bcher-kva.example/%C3%BC", "http://example.com/a?x=%20y+z", "http://wwwx.example.com/",
        "http://example.com/a?b=1&a=2&b=0", "http://example.com/a?sid=9682993c8daa2c5497996114facdc805",
        "http://example.com/a?q=http://x/y", "http://example.com/a'b(c)", "http://example.com/x?a=1;b=2",
        "http://example.com:8443/", "http://example.com/a//b", "http://example.com/A?B=C&a=%C3%9C", "http://[::1]:8080/x",
    ]  # fmt: skip
    program = "import sys; from surt import surt; print('\\n'.join(surt(one) for one in sys.argv[1:]))"
    done = subprocess.run([pywb() / "python", "-c", program, *urls], capture_output=True, text=True, check=True)
    assert [sort_key(url) for url in urls] == done.stdout.splitlines()
