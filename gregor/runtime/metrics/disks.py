"""How large a worker's folder is, and how much room its disks have: looked at when somebody asks, and not more often than needed."""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gregor.runtime.metrics.metric_defs import DISK_FREE, DISK_SIZE, STATE_BYTES
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures

WALK_EVERY_S: Final = 30.0


class Disks:
    """Asked by one thread at a time."""

    def __init__(self, disks: Mapping[str, Path]) -> None:
        """By name; ``state`` is the worker's own folder."""
        self._disks = disks
        self._size = 0
        self._next_walk = 0.0

    def figures(self) -> Figures:
        now = time.monotonic()
        if now >= self._next_walk:
            self._next_walk = now + WALK_EVERY_S
            self._size = size_of(self._disks["state"])
        used = {(name,): shutil.disk_usage(_existing(path)) for name, path in self._disks.items()}
        return {
            STATE_BYTES: {NO_LABELS: self._size},
            DISK_FREE: {name: one.free for name, one in used.items()},
            DISK_SIZE: {name: one.total for name, one in used.items()},
        }


def size_of(folder: Path) -> int:
    """Bytes of all files below it; those that go meanwhile are left out, as RocksDB deletes files at any moment."""
    total = 0
    folders = [os.fspath(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        else:
                            total += entry.stat(follow_symlinks=False).st_size
                    except FileNotFoundError:
                        continue
        except FileNotFoundError:
            continue
    return total


def _existing(path: Path) -> Path:
    """The folder, or where it will be made."""
    resolved = path.absolute()
    return next(one for one in (resolved, *resolved.parents) if one.exists())
