"""What is committed of each file, beside the files: for readers who have the folder and no broker.

``files-MEMBER.jsonl`` has a line for each file after each of its commits, which is the record of the topic ``archive``; of a file the
last line counts. It is written after the commit, so that it may be behind by the last one, never ahead: a member that starts again
makes up for it, or another one for a member that never does. A line without an end is one that was being written.

A member holds its list by a lock, because the next one by the same name would cut it to the length that it knows of: the archiver of every
`gregor crawl` has the same name, and two crawls may be told the same folder.
"""

import fcntl
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from gregor.errors import CorruptState, FolderInUse
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import Undecodable, encode

_PREFIX: Final = "files-"
_ENDING: Final = ".jsonl"
_COMPACT_AT: Final = 1024 * 1024


def read_manifest(path: Path) -> dict[str, ArchiveFile]:
    """File to what is committed of it."""
    found: dict[str, ArchiveFile] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            one = decode_archive_file(line)
        except Undecodable as error:
            raise CorruptState(
                f"{path}:{number}: {error}", remedy="copy the file again from where it was written"
            ) from error
        found[one.file] = one
    return found


def read_manifests(folder: Path) -> dict[str, ArchiveFile]:
    """Those of all members; of a file that two of them list, what the longer one says."""
    found: dict[str, ArchiveFile] = {}
    for path in _lists(folder):
        for name, one in read_manifest(path).items():
            if name not in found or found[name].length < one.length:
                found[name] = one
    return found


def listed_members(folder: Path) -> frozenset[str]:
    """Everybody who writes to the folder, or did: a list is there before the first file."""
    return frozenset(path.name.removeprefix(_PREFIX).removesuffix(_ENDING) for path in _lists(folder))


def _lists(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{_PREFIX}*{_ENDING}"))


class Manifest:
    """One member's own, until closed; raises FolderInUse."""

    def __init__(self, folder: Path, member: str) -> None:
        self._path = folder / f"{_PREFIX}{member}{_ENDING}"
        self._held = _hold(self._path)
        known = read_manifest(self._path) if self._path.exists() else {}
        self._known: dict[str, ArchiveFile] = dict(known)
        self._unwritten: dict[str, ArchiveFile] = {}
        self._length = 0
        self._compact()

    @property
    def files(self) -> Mapping[str, ArchiveFile]:
        return self._known

    def put(self, files: Iterable[ArchiveFile]) -> bool:
        """Write these down; False when there was no room, and the next call has to."""
        for one in files:
            if self._known.get(one.file) != one:
                self._known[one.file] = self._unwritten[one.file] = one
        if not self._unwritten:
            return True
        data = b"".join(encode(one) + b"\n" for one in self._unwritten.values())
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                # Half a line of an earlier attempt, perhaps.
                os.ftruncate(descriptor, self._length)
                if os.pwrite(descriptor, data, self._length) != len(data):
                    return False
            finally:
                os.close(descriptor)
        except OSError:
            return False
        self._unwritten = {}
        self._length += len(data)
        if self._length > _COMPACT_AT and self._length > 512 * len(self._known):
            self._compact()
        return True

    def _compact(self) -> None:
        """One line a file, in place of what was there, at once."""
        data = b"".join(encode(one) + b"\n" for one in self._known.values())
        new = self._path.with_suffix(".new")
        try:
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                # Before it has the list's name: there is no moment at which the list is nobody's.
                held = _lock(file.fileno(), self._path)
            new.replace(self._path)
            self.close()
            self._held = held
            self._length = len(data)
        except OSError:
            # No room: what is there will do, and grows behind its last whole line.
            new.unlink(missing_ok=True)
            there = self._path.read_bytes() if self._path.exists() else b""
            self._length = there.rfind(b"\n") + 1

    def close(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _hold(path: Path) -> int | None:
    """A descriptor that keeps others away; None: the disk has no room for an empty list, or knows no locks."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            return None
        try:
            held = _lock(descriptor, path)
            # Whoever had it may have put another file in its place in between.
            if held is None or os.path.samestat(os.fstat(held), os.stat(path)):
                return held
            os.close(held)
        finally:
            os.close(descriptor)


def _lock(descriptor: int, path: Path) -> int | None:
    """A second descriptor of a file that is locked from now on, until it is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FolderInUse(
            f"{path} is written by another process", remedy="stop that process, or set archive.folder to another folder"
        ) from error
    except OSError:
        return None
    return os.dup(descriptor)
