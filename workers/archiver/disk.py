"""Archive files on a disk: written behind their committed length, synced, cut, and what is done when there is no room."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gregor.errors import CorruptState
from gregor.stage.contract import NotNow

_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


class Disk:
    """The files of one folder. A file is open only while it is written: few are, and seldom."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, at: int, parts: Sequence[bytes]) -> None:
        """Make the file exactly ``at`` bytes and these, and wait until the disk has them. Raises NotNow when it is full; what it
        has then stands beyond ``at``, where the next attempt begins."""
        path = self.folder / name
        made = at == 0 and not path.exists()
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                self._fill(descriptor, name, at, b"".join(parts))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if made:
                self._sync_names()
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise NotNow(
                    f"there is no room in {self.folder} ({error.strerror}); free some, it goes on by itself"
                ) from error
            raise

    def _fill(self, descriptor: int, name: str, at: int, data: bytes) -> None:
        found = os.fstat(descriptor).st_size
        if found < at:
            raise short(self.folder / name, at, found)
        if found > at:
            os.ftruncate(descriptor, at)
        view = memoryview(data)
        while view:
            written = os.pwrite(descriptor, view, at)
            at += written
            view = view[written:]

    def size(self, name: str) -> int | None:
        """None: there is no such file."""
        try:
            return (self.folder / name).stat().st_size
        except FileNotFoundError:
            return None

    def cut(self, name: str, length: int) -> None:
        """Take away what was never committed."""
        os.truncate(self.folder / name, length)

    def remove(self, name: str) -> None:
        """Of a file of which nothing was ever committed."""
        (self.folder / name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        return sorted(entry.name for entry in os.scandir(self.folder))

    def _sync_names(self) -> None:
        """A file whose name is not on the disk is lost with all that is in it."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def short(path: Path, expected: int, found: int) -> CorruptState:
    return CorruptState(
        f"{path}: expected {expected} committed bytes, found {found}",
        remedy="restore the file; or archive the topic again with `gregor rearchive` while it still has the pages",
    )
