"""Folders that the system keeps from the user: one line that says so, the environment's exit code, and no word of deleting anything."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from tests.cli.test_crawl import LOOPBACK, ROOT

WITHOUT_PRIVILEGES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""Root may read and write everything; so it stays root, whose files these are, but without that privilege."""


def gregor(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    (folder / "gregor.toml").touch()
    return subprocess.run(
        [*WITHOUT_PRIVILEGES, sys.executable, "-m", "gregor", *map(str, arguments)],
        cwd=folder,
        env={**LOOPBACK, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=180,
    )


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)


def refused(folder: Path, arguments: Sequence[str | Path], why: str) -> None:
    done = gregor(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("gregor: expected a ")
    assert done.stderr.count("\n") == 1
    assert why in done.stderr
    assert "remove" not in done.stderr
    assert "rebuild" not in done.stderr


@pytest.fixture(scope="module")
def site() -> Iterator[DemoServer]:
    with serve(DemoSite(hosts=1, pages_per_host=2)) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, site: DemoServer) -> Iterator[Path]:
    """Where a crawl is, in docs; it is in order afterwards, too."""
    made = tmp_path_factory.mktemp("home")
    assert gregor(made, *again(site)).returncode == 0
    yield made
    assert gregor(made, *again(site)).returncode == 0


def again(site: DemoServer) -> tuple[str, ...]:
    return ("crawl", "--workers", "0", "-o", "docs", site.seeds[0])


@pytest.mark.parametrize(
    ("part", "bits"),
    [
        ("", 0o000),
        ("", 0o600),
        ("state", 0o000),
        ("state/db", 0o500),
        ("state/db/LOCK", 0o000),
        ("state/db/CURRENT", 0o000),
        ("state/witness", 0o400),
    ],
)
def test_a_crawl_that_belongs_to_somebody_else_is_not_called_corrupt(
    home: Path, site: DemoServer, part: str, bits: int
) -> None:
    with mode(home / "docs" / part, bits):
        refused(home, again(site), "Permission denied")


def test_a_crawl_that_may_not_be_looked_at_is_named(home: Path) -> None:
    with mode(home / "docs" / "state", 0o000):
        refused(home, ("status", "docs"), "docs/state/folder.json: Permission denied")


@pytest.mark.parametrize("bits", [0o000, 0o500])
def test_a_place_that_may_not_be_written_to_is_named(tmp_path: Path, bits: int) -> None:
    (tmp_path / "gregor-crawl").mkdir()
    with mode(tmp_path / "gregor-crawl", bits):
        refused(tmp_path, ("crawl", "http://127.0.0.1:1/"), "Permission denied")


def test_a_place_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    refused(tmp_path, ("crawl", "-o", "/proc/docs", "http://127.0.0.1:1/"), "/proc/docs: No such file or directory")


def test_a_file_called_as_the_log_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "state").write_text("mine")
    done = gregor(tmp_path, "crawl", "-o", "docs", "http://127.0.0.1:1/")
    assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert "found a file: docs/state; name another folder" in done.stderr
    assert (tmp_path / "docs" / "state").read_text() == "mine"
