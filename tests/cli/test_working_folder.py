"""gregor in a folder with Python files of somebody else, named like its own modules or like those of Python."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from tests.cli.test_crawl import LOOPBACK

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "streams", "workers", "infra")
MODULES = ("json", "csv", "ctypes", "pickle", "socket", "signal", "msgspec", "lxml", "parsel", "site", "sitecustomize")
TRAP = 'raise RuntimeError(f"{__file__} was imported")\n'
PLUGIN = """
from fractions import Fraction

from helper import heading


def pages(page):
    yield {"heading": heading(page), "half": float(Fraction(1, 2))}
"""
HELPER = "def heading(page):\n    return page.selector.css('h1::text').get()\n"
ITEMS = '[[item]]\nname = "plug"\nmatch = "."\nfunction = "myshop:pages"\n'


@pytest.fixture(scope="module")
def site() -> Iterator[DemoServer]:
    with serve(DemoSite(hosts=1, pages_per_host=8)) as server:
        yield server


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A working folder; whatever is imported from it raises."""
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(TRAP)
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(TRAP)
    (tmp_path / "gregor.toml").touch()
    return tmp_path


def run(folder: Path, *command: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    env = {**LOOPBACK, "PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, timeout=180)


def test_the_command_imports_nothing_of_the_folder_in_which_it_crawls(trapped: Path, site: DemoServer) -> None:
    (trapped / "gregor").mkdir()
    (trapped / "gregor" / "__init__.py").write_text(TRAP)
    done = run(trapped, Path(sys.executable).parent / "gregor", "crawl", "-o", "out", "--json", site.seeds[0])
    assert (done.returncode, "was imported" in done.stderr) == (0, False), done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["urls"]["fetched"] == len(site.site.urls())


def test_the_module_imports_nothing_but_itself_from_where_it_was_started(trapped: Path, site: DemoServer) -> None:
    command = (sys.executable, "-m", "gregor", "crawl", "-o", "out", "--json", site.seeds[0])
    done = run(trapped, *command, PYTHONPATH=str(ROOT))
    assert (done.returncode, "was imported" in done.stderr) == (0, False), done.stderr


def test_a_function_of_the_user_is_found_in_the_folder_and_harms_nothing_else(trapped: Path, site: DemoServer) -> None:
    (trapped / "myshop.py").write_text(PLUGIN)
    (trapped / "helper.py").write_text(HELPER)
    (trapped / "gregor.toml").write_text(ITEMS)
    done = run(trapped, Path(sys.executable).parent / "gregor", "crawl", "-o", "out", site.seeds[0])
    assert (done.returncode, "was imported" in done.stderr) == (0, False), done.stderr
    items = [json.loads(line)["fields"] for line in (trapped / "out" / "items.jsonl").read_text().splitlines()]
    assert len(items) >= 8
    assert all(item["heading"] and item["half"] == 0.5 for item in items)


def test_a_worker_of_a_cluster_imports_nothing_of_the_folder(trapped: Path) -> None:
    """Far enough to find that no broker is there."""
    code = (
        "from gregor.runtime.child_process import child_command, child_environment; import subprocess, sys;"
        "sys.exit(subprocess.call(child_command('gregor', 'worker', 'frontier', '--bootstrap', '127.0.0.1:1'), env=child_environment()))"
    )
    (trapped / "gregor.toml").write_text("[kafka]\ngive_up_after_s = 1.0\n")
    done = run(trapped, sys.executable, "-P", "-c", code)
    assert done.returncode == 2
    assert "was imported" not in done.stderr
    assert "broker" in done.stderr


def test_every_process_is_started_in_the_one_way() -> None:
    """Besides it only the leash of a command, which is isolated, and programs with environments of their own."""
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for folder in ("gregor", "streams", "workers", "schemas", "infra")
        for file in (ROOT / folder).rglob("*.py")
        for line in file.read_text().splitlines()
        if re.search(r"sys\.executable|multiprocessing|ProcessPoolExecutor", line) and '"-I"' not in line
    ]
    assert [line.partition(":")[0] for line in found] == ["gregor/runtime/child_process.py"], found
