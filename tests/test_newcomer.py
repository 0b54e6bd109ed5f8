"""The newcomer's path: a new clone, the README's crawls, of the demo and of a site of their own, and files that can be used.

All is as it is for them but one thing: the packages of requirements.lock, whose download takes minutes, are those of the environment that
runs the tests. gregor itself is installed from the clone, and runs from there.
"""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pandas
import pytest
from warcio.archiveiterator import ArchiveIterator

from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from tests.cli.test_crawl import LOOPBACK
from tests.readme import ROOT, blocks, on_loopback

PIP_INSTALL = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--ignore-installed", "-e", "."]


def run(*command: str | Path, cwd: Path, **settings: str) -> str:
    """In an environment without settings of ours but these."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GREGOR_", "PYTHON", "MAKE"))}
    environment = {**kept, **settings}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def lend_packages(clone: Path) -> None:
    """What `make setup` does, without the download."""
    environment = clone / ".venv"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=clone)
    site = next(environment.glob("lib/python*/site-packages"))
    # A folder that is named so adds its packages, but not the gregor that is installed there by a .pth file of its own.
    (site / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    python = environment / "bin" / "python"
    run(python, *PIP_INSTALL, cwd=clone)
    (environment / ".installed").touch()


def judge(output: Path) -> None:
    """What a crawl leaves behind can be read, and agrees with itself."""
    summary = json.loads((output / "summary.json").read_text())
    assert summary["state"] == "done"
    assert (output / "report.html").read_text().rstrip().endswith("</html>")
    answers = summary["requests"] + summary["robots_requests"]
    records = 0
    for file in (output / "archive").glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                records += record.rec_type in ("response", "revisit")
                record.content_stream().read()
    assert records == answers
    assert len(pandas.read_parquet(output / "archive" / "index" / "pages")) == answers
    assert (output / "items.jsonl").exists()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="there is nothing to clone")
def test_in_a_new_clone_both_crawls_of_the_readme_leave_files_that_can_be_used(tmp_path: Path) -> None:
    clone = tmp_path / "gregor"
    run("git", "clone", "--quiet", ROOT, clone, cwd=tmp_path)
    lend_packages(clone)
    where = run(clone / ".venv" / "bin" / "python", "-c", "import gregor; print(gregor.__path__)", cwd=tmp_path)
    assert str(clone) in where
    demo, tests = blocks()[0].commands()
    assert (demo, tests) == ("make crawl", "make test")
    (own,) = blocks()[1].commands()
    assert "0 missed, 0 too often, 0 that are closed" in run(*shlex.split(demo), cwd=clone)
    judge(clone / "gregor-demo")
    with serve(DemoSite(hosts=1)) as server:
        run(*shlex.split(on_loopback(own, server)), cwd=clone, **LOOPBACK)
        assert server.requested().keys() == server.site.urls()
    judge(clone / "gregor-crawl")
    assert run("git", "status", "--porcelain", cwd=clone) == "", "a crawl leaves the clone as it was"
