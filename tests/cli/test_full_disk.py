"""`gregor crawl` on a disk that is really full: one clear line, a documented exit code, and with room it goes on with nothing lost."""

import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from gregor.demo.server import serve
from gregor.outputs.archive.reader import open_archive
from tests.cli.large_site import LargeSite
from tests.cli.test_crawl import LOOPBACK, ROOT
from tests.workers.archiver.test_full_disk import needs_mounts

SITE = LargeSite(files=60, size=200_000)


@needs_mounts
@pytest.mark.parametrize("room", ["200k", "2m", "9m"])
def test_a_full_disk_is_one_line_and_with_room_the_same_command_goes_on(tmp_path: Path, room: str) -> None:
    (tmp_path / "gregor.toml").touch()
    (tmp_path / "out").mkdir()
    with serve(SITE) as server:
        crawl = shlex.join([sys.executable, "-m", "gregor", "crawl", "-o", "out", *server.seeds])
        # In a mount namespace of its own: what it leaves behind is copied to where it can be seen.
        script = f"""
            mount -t tmpfs -o size={room} none out
            {crawl} 2> full.txt && exit 100
            echo $? > code.txt
            mount -o remount,size=200m out
            {crawl} && cp -r out kept
        """
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script],
            cwd=tmp_path,
            env={**LOOPBACK, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        requested, urls = server.requested(), server.site.urls()
        bodies = {url: server.site.answer("", url.removeprefix(server.site.url(0, ""))) for url in urls}
    said = (tmp_path / "full.txt").read_text()
    assert (tmp_path / "code.txt").read_text() == "2\n", said
    assert "Traceback" not in said
    line = said.splitlines()[-1]
    assert line.startswith("gregor: ")
    assert "No space left on device" in line
    assert said.count("gregor: ") == 1
    assert requested.keys() == urls
    pages = [page for page in open_archive(tmp_path / "kept" / "archive") if page.url in urls]
    assert Counter(page.url for page in pages) == Counter(urls), "each page once"
    assert all(page.body == (bodies[page.url].raw or bodies[page.url].body.encode()) for page in pages)
