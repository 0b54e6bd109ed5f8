"""The WARC files of an archive, and how much of each counts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gregor.config import Config
from gregor.config.rules import GENERATED
from gregor.errors import UsageError
from workers.archiver.manifest import read_manifests

_ENDINGS: Final = (".warc.gz", ".warc")


def require_web(config: Config) -> None:
    """Raises UsageError when a crawl without a network has nothing to answer from."""
    web = config.emulate.web
    if config.fetch.backend == "archive" and not web.startswith(GENERATED):
        warc_files(Path(web))


def warc_files(web: Path) -> Mapping[Path, int]:
    """The WARC files of a folder and those below it, or the one file, each with the length that counts. Raises UsageError."""
    if not web.exists():
        raise UsageError(
            f"expected an archive, found nothing at {web}", remedy="name a folder with WARC files, or one of them"
        )
    found = [web] if web.is_file() else sorted(path for path in web.rglob("*") if path.name.endswith(_ENDINGS))
    if not found or (web.is_file() and not web.name.endswith(_ENDINGS)):
        raise UsageError(f"expected *.warc.gz or *.warc in {web}, found none", remedy="name another folder or file")
    committed = {folder: read_manifests(folder) for folder in {path.parent for path in found}}
    lengths: dict[Path, int] = {}
    for path in found:
        listed = committed[path.parent]
        if not listed:
            lengths[path] = path.stat().st_size
        elif path.name in listed:
            lengths[path] = min(listed[path.name].length, path.stat().st_size)
    return lengths
