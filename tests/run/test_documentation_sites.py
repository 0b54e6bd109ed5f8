"""Whole documentation sites, crawled by the command as people use it, against a link oracle and the server's own log."""

import json
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
from warcio.archiveiterator import ArchiveIterator

from gregor.demo.server import DemoServer, serve
from tests.cli.test_crawl import gregor
from tests.run.documentation_site import DocumentationSite


def asked(server: DemoServer) -> Counter[str]:
    return Counter(unquote(url) for url in server.requested().elements())


def archived(folder: Path) -> dict[str, bytes]:
    """URL without escapes to the body of its one answer of 200, by a reader of WARC that is not ours."""
    bodies: dict[str, bytes] = {}
    for file in folder.glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                if record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                    url = unquote(record.rec_headers["WARC-Target-URI"])
                    assert url not in bodies, f"{url} is there twice"
                    bodies[url] = record.content_stream().read()
    return bodies


@pytest.mark.parametrize("name", ["git", "sqlite"])
def test_a_whole_site_is_fetched_once_archived_and_then_left_alone(tmp_path: Path, name: str) -> None:
    with serve(DocumentationSite(name)) as server:
        site = DocumentationSite(name, server.port)
        first = gregor(tmp_path, "crawl", "--json", "-o", "out", *site.seeds)
        assert first.returncode == 0, first.stderr
        assert asked(server) == Counter(site.urls())
        summary = json.loads(first.stdout.splitlines()[-1])
        assert summary["urls"]["fetched"] + summary["urls"]["failed"] == len(site.urls())
        bodies = archived(tmp_path / "out" / "archive")
        assert bodies.keys() == site.pages()
        for url, body in bodies.items():
            file = site.file(url.removeprefix(site.url(0, "")))
            assert file is not None
            assert body == file.read_bytes(), url
        again = gregor(tmp_path, "crawl", "--json", "-o", "out", *site.seeds)
        assert again.returncode == 0, again.stderr
        assert asked(server) == Counter(site.urls())
