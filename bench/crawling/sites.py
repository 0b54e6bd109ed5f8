"""The sites that are crawled: a generated one and real documentation, as folders of files."""

from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from infra.documentation import site_folder

PAGE_BYTES: Final = 20 * 1024
LINKS: Final = 100
SAMPLE: Final = 200
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


def generated(folder: Path, pages: int) -> Site:
    """Pages of 20 KB with 100 links: 70 that the pages of a directory share, 30 of their own."""
    random = Random(1)
    for number in range(pages):
        path = folder / _path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_page(random, number, pages))
    return Site("generated", folder, f"/{_path(0)}", _links_per_page(folder))


def documentation(name: str) -> Site:
    folder = site_folder(name)
    # It is crawled within about a second, which is too short for one run to tell.
    return Site(name, folder, "/index.html", _links_per_page(folder), rounds=3)


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
