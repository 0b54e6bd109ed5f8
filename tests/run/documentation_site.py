"""A documentation tree of a Debian package as a site on loopback, and which of its URLs a complete crawl asks for.

The latter comes from the oracle of the extractor's tests, which shares no code with the crawler.
"""

import mimetypes
from collections import deque
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from gregor.demo.answer import ROBOTS, Answer
from infra.documentation import site_folder
from tests.workers.extractor.test_real_sites import expected

ADDRESS = "127.0.0.1"
FIRST = "/index.html"


class DocumentationSite(msgspec.Struct, frozen=True):
    """Files as they lie in their folder; whatever is no file is answered 404."""

    name: str
    port: int = 0

    def at(self, port: int) -> "DocumentationSite":
        return msgspec.structs.replace(self, port=port)

    @property
    def seeds(self) -> list[str]:
        return [self.url(0, FIRST)]

    def addresses(self) -> list[str]:
        return [ADDRESS]

    def url(self, host: int, path: str) -> str:
        return f"http://{ADDRESS}:{self.port}{path}"

    def file(self, path: str) -> Path | None:
        """The file that a path with a query stands for."""
        file = site_folder(self.name) / unquote(urlsplit(path).path).lstrip("/")
        return file if file.is_file() else None

    def pages(self) -> set[str]:
        return {url for url in self.urls() if self.file(urlsplit(url).path) is not None}

    def urls(self) -> set[str]:
        return {self.url(0, path) for path in _reachable(self)}

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        if path == ROBOTS:
            return Answer(404, "")
        file = self.file(path)
        if file is None:
            return Answer(404, "no such file", "text/plain")
        return Answer(200, "", mimetypes.guess_type(file.name)[0] or "application/octet-stream", raw=file.read_bytes())


@lru_cache(maxsize=4)
def _reachable(site: DocumentationSite) -> frozenset[str]:
    """Path and query, without escapes, of all that is linked from the first page on."""
    known, queue = {FIRST}, deque([FIRST])
    while queue:
        here = queue.popleft()
        file = site.file(here)
        if file is None or file.suffix != ".html":
            continue
        for url in expected(site.url(0, here), file.read_bytes()):
            parts = urlsplit(url)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            if parts.netloc == f"{ADDRESS}:{site.port}" and path not in known:
                known.add(path)
                queue.append(path)
    return frozenset(known)
