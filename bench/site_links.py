"""Sites as lists of links: what each page of a real or synthetic site links to within the site, in the order of a crawl."""

from __future__ import annotations

from collections import deque
from random import Random

from msgspec import Struct

from gregor.url.links import join_many
from infra.documentation import pages
from workers.extractor.links import extract

HOST = "http://site.example"


class Site(Struct, frozen=True):
    """Pages in the order in which a breadth-first crawl from the first one fetches them."""

    name: str
    pages: list[tuple[str, list[str]]]
    """(path, distinct paths that it links to)"""

    @property
    def links(self) -> int:
        """NL: each page's links without its own repeats, which is what the filter is asked."""
        return sum(len(targets) for _, targets in self.pages)

    @property
    def urls(self) -> int:
        """NLAF: what is left when every repeat is filtered."""
        return len({target for _, targets in self.pages for target in targets})


def real(name: str) -> Site:
    """A documentation site. Links to files that are no pages stay links, as they would in a crawl."""
    found = {}
    for path, file in pages(name):
        page = extract(file.read_bytes(), "text/html", HOST + path)
        joined = join_many(page.base, [link.href for link in page.links])
        found[path] = [path for _, path, _, _ in joined.servers.get("site.example", [])]
    first = "/index.html" if "/index.html" in found else next(iter(found))
    return _crawled(name, found, first)


def synthetic(name: str, count: int, links: int, navigation: int, seed: int = 1) -> Site:
    """Pages of ``links`` links each: ``navigation`` of them the same in a section, the others to pages nearby."""
    random = Random(seed)
    per_section = 100
    paths = [f"/section{number // per_section}/page{number}.html" for number in range(count)]
    found = {}
    for number, path in enumerate(paths):
        section = number // per_section * per_section
        nav = [paths[min(section + k, count - 1)] for k in range(navigation // 2)]
        top = [
            f"/section{k}/page{k * per_section}.html" for k in range(min(navigation - len(nav), count // per_section))
        ]
        near = [paths[max(0, min(count - 1, int(random.gauss(number + 20, 200))))] for _ in range(links - navigation)]
        found[path] = list(dict.fromkeys([*nav, *top, *near, paths[min(number + 1, count - 1)]]))
    return _crawled(name, found, paths[0])


def _crawled(name: str, found: dict[str, list[str]], first: str) -> Site:
    queue, seen, order = deque([first]), {first}, []
    while queue:
        path = queue.popleft()
        if path not in found:
            continue
        order.append((path, found[path]))
        for target in found[path]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return Site(name, order)
