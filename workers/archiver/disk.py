"""Archive files on a disk: written behind their committed length, synced, cut, and what is done when there is no room."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gregor.errors import CorruptState, StateError
from gregor.runtime.loops.contract import SinkUnavailable

_NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


class Disk:
    """The files of one folder. A file is open only while it is written: few are, and seldom."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(folder, error) from error

    def write(self, name: str, at: int, parts: Sequence[bytes]) -> None:
        """Make the file exactly ``at`` bytes and these. Raises SinkUnavailable when the disk is full; what it has then stands beyond
        ``at``, where the next attempt begins."""
        with self._opened(name) as descriptor:
            self._fill(descriptor, name, at, b"".join(parts))

    def sync(self, names: Sequence[str]) -> None:
        """Wait until the disk has these files, and their names: a file whose name it has not is lost. After all of them are written,
        because then the first wait has done most of the others' work."""
        for name in names:
            with self._opened(name) as descriptor:
                os.fsync(descriptor)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        try:
            descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise SinkUnavailable(
                    f"there is no room in {self.folder} ({error.strerror}); free some, it goes on by itself"
                ) from error
            raise _unwritable(self.folder / name, error) from error

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


def _unwritable(path: Path, error: OSError) -> StateError:
    return StateError(
        f"expected to be able to write {path}, found: {error.strerror}", remedy="mend that, or set archive.folder"
    )


def short(path: Path, expected: int, found: int) -> CorruptState:
    return CorruptState(
        f"{path}: expected {expected} committed bytes, found {found}",
        remedy="restore the file; or archive the topic again with `gregor rearchive` while it still has the pages",
    )
