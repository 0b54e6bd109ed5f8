"""A disk that is really full: the archiver stops taking pages, keeps its place, and goes on when there is room, with nothing lost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gregor.outputs.archive.reader import open_archive
from gregor.runtime.transport.port import TopicPartition
from tests.workers.archiver.pages import PARTITIONS, Museum, config, facts, output

PAGES = 60
SIZE_KB = 256
INPUTS = [TopicPartition("pages", partition) for partition in range(PARTITIONS)]

needs_mounts = pytest.mark.skipif(
    not sys.platform.startswith("linux") or subprocess.run(["unshare", "-rm", "true"], check=False).returncode != 0,
    reason="a disk of a size of its own needs Linux and the right to make a mount namespace",
)


def incompressible(number: int) -> bytes:
    return os.urandom(8 * 1024) + b"%d" % number


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    path.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "none", str(path)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


def story(folder: Path) -> None:
    """Run in a mount namespace of its own."""
    with small_disk(folder / "archive"):
        ballast = folder / "archive" / "ballast"
        ballast.write_bytes(bytes((SIZE_KB - 64) * 1024))
        museum = Museum(folder, config())
        pages = [output(number, content=incompressible(number)) for number in range(20)]
        museum.append(pages)
        while not museum.loop.held:
            museum.loop.step(0.01)
        before = museum.transport.committed("archiver", ("pages",))
        notes = [museum.stage.note(one) for one in INPUTS]
        museum.append([output(number) for number in range(20, PAGES)])
        for _ in range(20):
            museum.loop.step(0.01)
        assert museum.transport.committed("archiver", ("pages",)) == before, (
            "nothing is committed while the disk is full"
        )
        assert [museum.stage.note(one) for one in INPUTS] == notes, "nor is any page taken"
        ballast.unlink()
        museum.archive_all()
        found = sorted(page.facts.lease for page in open_archive(museum.folder))
        assert found == sorted(facts(number).lease for number in range(PAGES)), "each page once"
        museum.close()
    print("the story has ended well")


@needs_mounts
def test_a_full_disk_stops_the_archiver_until_there_is_room(tmp_path: Path) -> None:
    program = f"from {__name__} import story; from pathlib import Path; story(Path({str(tmp_path)!r}))"
    command = ["unshare", "-rm", sys.executable, "-c", program]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert "the story has ended well" in done.stdout, done.stdout + done.stderr
    assert "archiver takes no more input: there is no room in" in done.stderr
    assert "archiver takes input again" in done.stderr
