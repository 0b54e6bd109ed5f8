"""Where a user wants something written: a place that cannot be meant is refused before anything is read, and a file appears whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gregor.errors import UsageError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Written beside its place and put there when the block has ended well; otherwise whatever was there stays. A device or a pipe is
    written to as it is."""
    place = path.resolve()
    if place.is_dir():
        raise UsageError(f"expected a file, or none yet, found a folder: {path}", remedy="name a file in it")
    if not place.parent.is_dir():
        raise UsageError(f"expected a folder for {path.name}, found none: {path.parent}", remedy="make it")
    if path.exists() and not place.is_file():
        with path.open("wb") as file:
            yield file
        return
    new = place.with_name(f"{place.name}.new")
    try:
        with new.open("wb") as file:
            yield file
        new.replace(place)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def require_folder(path: Path) -> None:
    """A folder, or nothing yet."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"expected a folder, or none yet, found a file: {path}", remedy="name another")


def require_empty(path: Path) -> None:
    """The same without anything in it."""
    require_folder(path)
    if path.exists() and any(path.iterdir()):
        raise UsageError(f"expected an empty folder, or none, found files in {path}", remedy="name another")
