"""The folder of an embedded crawl: opened once, by one process, for the crawl it was made for, or refused in one line.

folder.json   format, crawl, partitions and placement, written last when a folder is made: a folder that has it has a database
db/           the database, which holds the same identity
witness       what the database must have, see write_counter.py
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct
from rocksdict import Rdict

from gregor.errors import CorruptState, ForeignState, GregorError, no_access, no_room, placement_remedy
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import META, Store
from gregor.runtime.transport.embedded.layout import FORMAT, IDENTITY, LOG, PASSING, REMEDY, WRITTEN, unpack_count
from gregor.runtime.transport.embedded.write_counter import WriteCounter

MakeStore = Callable[[Path, Sequence[str], SharedMemory], Store]

_OWN: Final = ("db", "witness", "folder.json.new")
"""What a folder may hold before it is finished."""
_ELSEWHERE: Final = "name another folder, or the crawl and partitions that this one was made for"


class FolderIdentity(Struct, frozen=True, kw_only=True):
    """What a folder was made for; none of it can be changed later."""

    format: int = FORMAT
    crawl: str
    partitions: int
    placement: Literal["hash", "sites"] = "hash"
    """Folders of before sites could be placed say nothing."""


class Folder(Struct, frozen=True):
    """A folder that was found to be right."""

    store: Store
    write_counter: WriteCounter
    commits: int
    """Batches written so far."""


def identity_of(path: Path) -> FolderIdentity | None:
    """What a folder was made for; None: no crawl's log is in it."""
    return _named(path / "folder.json")


def require_made_for(path: Path, wanted: FolderIdentity) -> None:
    """Raises ForeignState when the folder was made for something else; one that is not there yet can become anything."""
    named = identity_of(path)
    if named is not None:
        _compare(path, named, wanted)


def open_folder(
    path: Path, wanted: FolderIdentity, families: Sequence[str], memory: SharedMemory, make_store: MakeStore = Store
) -> Folder:
    """Open or make the folder; raises FolderInUse, ForeignState or CorruptState, and NoRoom or NoAccess when it is not to blame."""
    try:
        return _opened(path, wanted, families, memory, make_store)
    except OSError as error:
        raise no_room(path, error) or no_access(path, error) or error from error


def _opened(
    path: Path, wanted: FolderIdentity, families: Sequence[str], memory: SharedMemory, make_store: MakeStore
) -> Folder:
    label, database = path / "folder.json", path / "db"
    named = _named(label)
    if named is not None:
        _compare(path, named, wanted)
        if not (database / "CURRENT").exists():
            raise CorruptState(f"{path} was made for crawl {named.crawl!r}, but its database is gone", remedy=REMEDY)
    elif path.exists() and not path.is_dir():
        raise ForeignState(f"expected the folder of a crawl's log, found a file: {path}", remedy="name another folder")
    elif path.exists() and any(entry.name not in _OWN for entry in path.iterdir()):
        raise ForeignState(f"{path} holds files, but not those of a crawl", remedy="name an empty folder")
    store = _open_store(database, families, memory, make_store)
    try:
        return _checked(path, store, wanted, named)
    except Exception as error:
        with suppress(Exception):  # a full disk is told once
            store.close()
        raise no_room(database, error) or no_access(database, error) or error from error


def _checked(path: Path, store: Store, wanted: FolderIdentity, named: FolderIdentity | None) -> Folder:
    meta = store.view()
    held = meta.get(META, IDENTITY)
    if held is not None:
        _compare(path, _decoded(path / "db", held), wanted)
    elif named is not None or next(meta.scan(META), None) is not None:
        raise CorruptState(f"{path} was made for a crawl, but its database does not know of it", remedy=REMEDY)
    write_counter = WriteCounter(path / "witness")
    try:
        commits = unpack_count(meta.get(META, WRITTEN))
        owed = write_counter.owed()
        if commits < owed:
            raise CorruptState(
                f"{path} lost committed records: expected {owed} batches, found {commits}", remedy=REMEDY
            )
        if held is None:
            batch = store.begin()
            store.writer(batch).put(META, IDENTITY, msgspec.json.encode(wanted))
            store.write(batch, sync=True)
        store.sync()
        write_counter.written(commits)
        write_counter.synced(commits)
        if named is None:
            _write_durably(path / "folder.json", msgspec.json.encode(wanted) + b"\n")
    except BaseException:
        write_counter.close()
        raise
    return Folder(store, write_counter, commits)


def _open_store(path: Path, families: Sequence[str], memory: SharedMemory, make_store: MakeStore) -> Store:
    # A database opens only with all of its families, also those of stages that do not run today.
    found: set[str] = set()
    try:
        if (path / "CURRENT").exists():
            found = set(Rdict.list_cf(os.fspath(path))) - {"default", META}
        return make_store(path, sorted({LOG, PASSING, *families} | found), memory)
    except CorruptState as error:
        raise CorruptState(error.message, remedy=REMEDY) from error
    except (GregorError, OSError):
        raise
    except Exception as error:  # rocksdict raises bare Exception for everything
        unread = CorruptState(f"{path} cannot be opened: {error}", remedy=REMEDY)
        raise no_access(path, error) or unread from error


def _named(label: Path) -> FolderIdentity | None:
    try:
        return _decoded(label, label.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _decoded(where: Path, data: bytes) -> FolderIdentity:
    try:
        return msgspec.json.decode(data, type=FolderIdentity)
    except msgspec.MsgspecError as error:
        raise CorruptState(f"{where} does not say which crawl it belongs to: {error}", remedy=REMEDY) from error


def _compare(path: Path, found: FolderIdentity, wanted: FolderIdentity) -> None:
    for field in ("format", "crawl", "partitions"):
        have, want = getattr(found, field), getattr(wanted, field)
        if have != want:
            raise ForeignState(f"{path} was made with {field} {have!r}, expected {want!r}", remedy=_ELSEWHERE)
    if found.placement != wanted.placement:
        raise ForeignState(
            f"{path} was made with partitions.placement {found.placement!r}, expected {wanted.placement!r}",
            remedy=placement_remedy(found.placement, "name another folder"),
        )


def _write_durably(path: Path, data: bytes) -> None:
    unfinished = path.parent / "folder.json.new"
    with open(unfinished, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
