"""Real documentation sites from Debian packages, for tests and benchmarks: fetched once by apt, unpacked into the cache.

Nothing is installed: the package is downloaded and unpacked beside the jars, which needs no root and leaves the machine
as it was. Each site comes from another generator, so that their markup differs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from infra.kafka.jars import cache_folder


class DocumentationSite(msgspec.Struct, frozen=True):
    """A tree of HTML files."""

    package: str
    generator: str
    root: str
    """Folder of the site within the package."""


SITES = {
    "python": DocumentationSite("python3.11-doc", "Sphinx", "usr/share/doc/python3.11/html"),
    "postgresql": DocumentationSite("postgresql-doc-15", "DocBook", "usr/share/doc/postgresql-doc-15/html"),
    "git": DocumentationSite("git-doc", "AsciiDoc", "usr/share/doc/git/html"),
    "sqlite": DocumentationSite("sqlite3-doc", "its own scripts", "usr/share/doc/sqlite3"),
    "jsoncpp": DocumentationSite("libjsoncpp-doc", "Doxygen", "usr/share/doc/libjsoncpp-doc"),
}

LARGE_SITES = {
    "openjdk": DocumentationSite("openjdk-17-doc", "javadoc", "usr/share/doc/openjdk-17-jre-headless/api"),
}
"""Ten thousand pages and more, for benchmarks."""


def site_folder(name: str) -> Path:
    """The folder of the site, downloaded if need be. Several processes may call it at once."""
    site = {**SITES, **LARGE_SITES}[name]
    shelf = cache_folder() / "documentation"
    entry = shelf / site.package
    if not entry.is_dir():
        shelf.mkdir(parents=True, exist_ok=True)
        with _locked(shelf / "lock"):
            if not entry.is_dir():
                _fetch(site.package, entry)
    root = entry / site.root
    if not root.is_dir():
        raise GregorError(
            f"{site.package} has no folder {site.root}", exit_code=EXIT_ENVIRONMENT, remedy="see what it holds instead"
        )
    return root


def pages(name: str) -> Iterator[tuple[str, Path]]:
    """(path on the site, file) of every HTML file, in order."""
    root = site_folder(name)
    for file in sorted(root.rglob("*.html")):
        if file.is_file():
            yield "/" + file.relative_to(root).as_posix(), file


def _fetch(package: str, entry: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise GregorError(
            f"the documentation in Debian's {package} is needed, and there is no apt-get here",
            exit_code=EXIT_ENVIRONMENT,
            remedy=f"unpack the package into {entry}",
        )
    with tempfile.TemporaryDirectory(dir=entry.parent) as folder:
        done = _download(package, Path(folder))
        if done.returncode != 0 and os.getuid() == 0:
            subprocess.run(["apt-get", "update", "-qq"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
            done = _download(package, Path(folder))
        files = list(Path(folder).glob("*.deb"))
        if done.returncode != 0 or not files:
            raise GregorError(
                f"apt-get could not download {package}: {done.stderr.strip()[-300:]}",
                exit_code=EXIT_ENVIRONMENT,
                remedy="`apt-get update` as root may help",
            )
        subprocess.run(["dpkg-deb", "-x", str(files[0]), f"{folder}/unpacked"], check=True)
        os.rename(f"{folder}/unpacked", entry)


def _download(package: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # Root's apt would hand the file to a user of its own, who may not write here.
    command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
