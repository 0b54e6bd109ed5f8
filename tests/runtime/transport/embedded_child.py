"""Another process at a folder: what it does, and how a test starts it."""

import os
import subprocess
import sys
from pathlib import Path

from gregor.errors import FolderInUse
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import Output
from tests.runtime.transport.embedded_folder import ROOT, SETTINGS, SMALL, opened
from tests.runtime.transport.member import STAGES


def child(task: str, *arguments: object) -> str:
    """Runs a task of this file in a process of its own and returns what it printed."""
    command = [sys.executable, "-m", "tests.runtime.transport.embedded_child", task, *map(str, arguments)]
    return subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout


def fill_and_die(folder: Path, records: int) -> None:
    transport = EmbeddedTransport.at(folder, SETTINGS, SharedMemory(SMALL), STAGES)
    for _ in range(records):
        transport.append([Output("discovered", 0, b"k", os.urandom(500))])
    os._exit(0)


def try_to_open(folder: Path) -> None:
    try:
        with opened(folder):
            print("opened")
    except FolderInUse as error:
        print("refused:", error)


if __name__ == "__main__":
    task, folder = sys.argv[1], Path(sys.argv[2])
    if task == "fill":
        fill_and_die(folder, int(sys.argv[3]))
    else:
        try_to_open(folder)
