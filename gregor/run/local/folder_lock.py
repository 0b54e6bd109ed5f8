"""A cluster's folder is held by the process that runs the cluster, for as long as it lives: one folder, one cluster."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gregor.errors import FolderInUse

LOCK: Final = "lock"


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Raises FolderInUse when another process, or another part of this one, holds the folder; makes it if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    # A lock of the open file, which the system takes back however its owner ends; no worker inherits it.
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FolderInUse(
                f"expected a folder that no cluster runs in, found one that runs in {folder}",
                remedy="stop it, or name another folder with --output",
            ) from error
        yield
    finally:
        os.close(lock)
