"""What is committed of each file, beside the files: for readers who have the folder and no broker.

``files-MEMBER.jsonl`` has a line for each file after each of its commits, which is the record of the topic ``archive``; of a file the
last line counts. It is written after the commit, so that it may be behind by the last one, never ahead: a member that starts again
makes up for it, or another one for a member that never does. A line without an end is one that was being written.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from gregor.errors import CorruptState
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
    """One member's own."""

    def __init__(self, folder: Path, member: str) -> None:
        self._path = folder / f"{_PREFIX}{member}{_ENDING}"
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
            new.replace(self._path)
            self._length = len(data)
        except OSError:
            # No room: what is there will do, and grows behind its last whole line.
            new.unlink(missing_ok=True)
            there = self._path.read_bytes() if self._path.exists() else b""
            self._length = there.rfind(b"\n") + 1
