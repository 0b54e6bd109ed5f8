"""What docs/archive.md tells people to type is typed, on an archive of the demo site."""

import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from infra.replay import replaying
from tests.chaos.processes import REPOSITORY, gregor
from tests.run.configured import write_config

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (REPOSITORY / "docs" / "archive.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With an archive and nothing else that counts."""
    made = tmp_path_factory.mktemp("docs")
    with serve(DemoSite()) as server:
        config = write_config(made / "gregor.toml", server)
        with gregor(config, "crawl", "--output", made / "crawl") as running:
            code, printed = running.wait()
    assert code == 0, printed
    (made / "archive").symlink_to(made / "crawl" / "archive")
    return made


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def test_every_line_that_loads_an_archive_works(folder: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in blocks("sh"):
        subprocess.run(["bash", "-ec", command], cwd=folder, check=True, env={**os.environ, "PATH": path})
    programs = blocks("python")
    assert len(programs) == 4
    for program in programs:
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout


@pytest.mark.timeout(600)
def test_pywb_starts_with_the_configuration_that_is_shown(folder: Path) -> None:
    (shown,) = blocks("yaml")
    subprocess.run([sys.executable, "-m", "gregor", "index", folder / "archive"], cwd=REPOSITORY, check=True)
    url = (folder / "archive" / "index" / "pages.cdxj").read_text().partition('"url":"')[2].partition('"')[0]
    with (
        replaying(folder, shown) as address,
        urllib.request.urlopen(f"{address}/crawl/id_/{url}", timeout=60) as answer,
    ):
        assert answer.status == 200
