"""The sites that are crawled, as folders of files: a generated one, real documentation, and pages like those of the web."""

import gzip
from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from bench.crawling.web_pages import web_bodies, web_page
from gregor.demo.answer import loopback
from infra.documentation import SITES, site_folder

PAGE_BYTES: Final = 20 * 1024
LINKS: Final = 100
SAMPLE: Final = 200
WEB_HOSTS: Final = 50
WEB_LINKS: Final = 400
ABSOLUTE: Final = 0.59
_WORDS: Final = ("one", "morning", "it", "woke", "before", "the", "household", "and", "found", "its", "ceiling", "near")


class Site(Struct, frozen=True):
    """Files below a folder, crawled from one page."""

    name: str
    folder: Path
    start: str
    links_per_page: float
    """Of a sample of its pages."""
    rounds: int = 1
    """How often each crawler has it, of which the run in the middle counts."""
    more_starts: tuple[tuple[int, str], ...] = ()
    """Further pages to start from: the number of the host that has it, and its path. The first one is on host 0."""
    tls: bool = False
    packed: bool = False
    """Sent as gzip."""
    follow: bool = True
    """False: what its pages link to is elsewhere, and the pages to start from are all."""
    crawlers: tuple[str, ...] = ()
    """Those that can crawl it; none: all."""

    def urls(self, port: int) -> list[str]:
        """Where a crawl of it starts."""
        scheme = "https" if self.tls else "http"
        starts = ((0, self.start), *self.more_starts)
        return [f"{scheme}://{loopback(host)}:{port}{path}" for host, path in starts]


def generated(folder: Path, pages: int) -> Site:
    """Pages of 20 KB with 100 links: 70 that the pages of a directory share, 30 of their own."""
    random = Random(1)
    for number in range(pages):
        path = folder / _path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_page(random, number, pages))
    return Site("generated", folder, f"/{_path(0)}", _links_per_page(folder))


def web(folder: Path, pages: int, real: Path | None, packed: bool) -> Site:
    """Pages like those of the web (web_pages.py), or real ones, on fifty hosts over TLS. Every host is entered by its first page; real
    ones lead elsewhere, and all are given."""
    random = Random(1)
    bodies = web_bodies(pages, real) if real is not None else None
    for number in range(pages):
        body = bodies[number] if bodies is not None else web_page(random, number, _web_links(random, number, pages))
        path = folder / _web_path(number)[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        if packed:
            path.with_suffix(".html.gz").write_bytes(gzip.compress(body, 6))
    starts = range(1, pages if real is not None else WEB_HOSTS)
    return Site(
        f"web{'-real' if real is not None else ''}{'-gzip' if packed else ''}",
        folder,
        _web_path(0),
        _links_per_page(folder),
        more_starts=tuple((number % WEB_HOSTS, _web_path(number)) for number in starts),
        tls=True,
        packed=packed,
        follow=real is None,
        crawlers=("gregor", "gregor+archive", "bare", "scrapy"),
    )


def _web_path(number: int) -> str:
    return f"/h{number % WEB_HOSTS}/{number // WEB_HOSTS}.html"


def _web_links(random: Random, number: int, pages: int) -> list[str]:
    """The next pages of the host, so that all are found, then others of it and those of the world, as the statistics have them."""
    host, own = number % WEB_HOSTS, number // WEB_HOSTS
    here = len(range(host, pages, WEB_HOSTS))
    links = [f"/h{host}/{one}.html" for one in range(own * 3 + 1, own * 3 + 4) if one < here]
    while len(links) < WEB_LINKS:
        inside = random.random() > ABSOLUTE
        links.append(
            f"/h{host}/{random.randrange(here)}.html"
            if inside
            else f"https://site{random.randrange(200)}.example/{random.randrange(10_000)}.html"
        )
    return links


def documentation(name: str) -> Site:
    folder = site_folder(name)
    # The small one is crawled within about a second, which is too short for one run to tell.
    return Site(name, folder, "/index.html", _links_per_page(folder), rounds=3 if name in SITES else 1)


def _links_per_page(folder: Path) -> float:
    files = sorted(folder.rglob("*.html"))
    sample = [file for file in files[:: max(1, len(files) // SAMPLE)] if file.is_file()]
    return sum(len(LexborHTMLParser(file.read_bytes()).css("a[href]")) for file in sample) / len(sample)


def _path(number: int) -> str:
    return f"part{number // 100}/page{number}.html"


def _page(random: Random, number: int, pages: int) -> str:
    first = number // 100 * 100
    shared = [f"page{first + k}.html" for k in range(min(40, pages - first))]
    shared += [f"../{_path(k * 100)}" for k in range(min(30, -(-pages // 100)))]
    following = (number * 3 + k + 1 for k in range(3))
    own = [f"/{_path(one)}" for one in following if one < pages]
    own += [f"/{_path(random.randrange(pages))}" for _ in range(LINKS - len(shared) - len(own))]
    links = "".join(
        f'<li class="toc"><a class="reference" href="{href}">{random.choice(_WORDS)}</a></li>\n'
        for href in shared + own
    )
    head = f"<!doctype html><html><head><title>Page {number}</title></head><body><ul>\n{links}</ul>\n"
    text = ""
    while len(head) + len(text) < PAGE_BYTES - 200:
        text += f"<p>{' '.join(random.choices(_WORDS, k=70))}</p>\n"
    return f"{head}{text}</body></html>\n"
