"""The locality of links (beta of paper 000) on real pages: how many links leave the server, or the directory, of their page.

Run: python bench/locality.py [--quick] [--json]

The pages are documentation trees of Debian packages, each read as if it were served at its public address. As root on Debian they are
installed when they are missing. Documentation links to itself more than most of the web does: paper 000 found that of 29,580 links of 400
servers 63.3% led to one of them, takes 20% of strays in its text, and its Table 2 was computed with 30%.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench import report
from bench.engines.provision import Missing, can_install, install, run
from gregor.url.links import join_many
from workers.extractor.links import extract

REPOSITORIES: Final = 4096


class Tree(msgspec.Struct, frozen=True):
    """A folder of pages and the address at which they stand in the web."""

    package: str
    folder: str
    address: str


TREES: Final = (
    Tree("python3.11-doc", "/usr/share/doc/python3.11/html", "https://docs.python.org/3.11/"),
    Tree("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html", "https://www.postgresql.org/docs/15/"),
    Tree("sqlite3-doc", "/usr/share/doc/sqlite3", "https://www.sqlite.org/"),
    Tree("git-doc", "/usr/share/doc/git-doc", "https://git-scm.com/docs/"),
    Tree("apache2-doc", "/usr/share/doc/apache2-doc/manual/en", "https://httpd.apache.org/docs/2.4/"),
    Tree("python-django-doc", "/usr/share/doc/python-django-doc/html", "https://docs.djangoproject.com/en/3.2/"),
)


class Locality(msgspec.Struct, frozen=True):
    """Where the links of some pages lead; every occurrence counts, links within a page do not."""

    name: str
    pages: int = 0
    links: int = 0
    other_directory: int = 0
    other_server: int = 0
    servers: int = 0
    """Different servers linked to."""

    @property
    def beta(self) -> float:
        """The share that leaves its repository: another server is in another one but for 1 in N."""
        return self.other_server / max(1, self.links) * (1 - 1 / REPOSITORIES)


def measure_pages(name: str, pages: Sequence[tuple[str, bytes]]) -> Locality:
    """``pages`` are (URL, HTML)."""
    links = other_directory = other_server = 0
    servers: set[str] = set()
    for url, body in pages:
        found = extract(body, "text/html", url)
        hrefs = [link.href for link in found.links if link.kind == "a" and not link.href.startswith("#")]
        own, _, path = url.partition("://")[2].partition("/")
        directory = "/" + path.rpartition("/")[0]
        for server, targets in join_many(found.base, hrefs).servers.items():
            count = sum(target[3] for target in targets)
            links += count
            servers.add(server)
            if server != own:
                other_server += count
            else:
                other_directory += sum(
                    t[3] for t in targets if t[1].partition("?")[0].rpartition("/")[0] != directory.rstrip("/")
                )
    return Locality(name, len(pages), links, other_directory, other_server, len(servers))


def pages_of(tree: Tree) -> list[tuple[str, bytes]]:
    """All pages of a tree in the order of their names."""
    root = Path(tree.folder)
    files = sorted(
        path for path in root.rglob("*") if path.name.endswith((".html", ".html.en", ".htm")) and path.is_file()
    )
    return [(tree.address + str(path.relative_to(root)).removesuffix(".en"), path.read_bytes()) for path in files]


def provide(trees: Sequence[Tree]) -> None:
    missing = [tree.package for tree in trees if not Path(tree.folder).is_dir()]
    if missing and can_install():
        install(tuple(missing))
        missing = [tree.package for tree in trees if not Path(tree.folder).is_dir()]
    if missing:
        raise Missing(
            f"expected the pages of {', '.join(missing)}, found none", remedy=f"apt-get install {' '.join(missing)}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    given = report.options(__doc__, arguments=arguments)
    trees = TREES[:1] if given.quick else TREES
    provide(trees)
    print(report.machine("selectolax", "ada-url"))
    print(
        f"{'pages of':20}{'pages':>8}{'links':>10}{'other directory':>17}{'other server':>14}{'servers':>9}{'beta':>8}"
    )
    rows = []
    for tree in trees:
        row = measure_pages(tree.package, pages_of(tree))
        rows.append(row)
        print(line(row), flush=True)
    total = Locality(
        "all",
        *(
            sum(getattr(row, field) for row in rows)
            for field in ("pages", "links", "other_directory", "other_server", "servers")
        ),
    )
    print(line(total))
    print("paper 000: 36.7% of 29,580 links of 400 servers led elsewhere; 20% in its text; 30% in its Table 2")
    figures = {"beta": round(total.beta, 4), "links": total.links, "trees": [msgspec.to_builtins(row) for row in rows]}
    report.finish(figures, given.json)


def line(row: Locality) -> str:
    return (
        f"{row.name:20}{row.pages:>8,}{row.links:>10,}{row.other_directory / max(1, row.links):>17.1%}"
        f"{row.other_server / max(1, row.links):>14.1%}{row.servers:>9,}{row.beta:>8.3f}"
    )


if __name__ == "__main__":
    run(main)
