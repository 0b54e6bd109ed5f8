"""The broker's jars: fetched once by Maven into a cache folder that is either whole or not there.

A download goes into a folder of its own beside the cache entry, is read through, and is renamed into place in one
step together with a manifest of names and sizes. A run that is killed half way therefore leaves only a stray folder,
which the next download sweeps away, and an entry that lost a file or was cut short is seen and fetched anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from infra.kafka.errors import KafkaError

POM = Path(__file__).with_name("pom.xml")
MANIFEST = "manifest.json"
_STRAY = "fetching-"
_log = logging.getLogger("gregor.infra")


def cache_folder() -> Path:
    """$GREGOR_CACHE, else .cache in the repository, else (installed as a package) the user's cache folder."""
    if chosen := os.environ.get("GREGOR_CACHE"):
        return Path(chosen)
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").is_file():
        return root / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gregor"


def copy_with_maven(target: Path) -> None:
    """Fill `target` with the jars that pom.xml names and all that they need."""
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaError("Maven (mvn) fetches the broker's jars and is not installed: apt-get install maven")
    command = [maven, "-B", "-ntp", "-q", "-f", str(POM), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KafkaError(
            f"Maven could not fetch the broker's jars (exit code {done.returncode}):\n{done.stdout[-3000:]}"
        )


def ensure_jars(cache: Path | None = None, copy: Callable[[Path], None] = copy_with_maven) -> Path:
    """The folder of the jars, filled by `copy` unless a whole one is there. Several processes may call it at once."""
    shelf = (cache or cache_folder()) / "kafka"
    entry = shelf / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]
    if is_whole(entry):
        return entry
    shelf.mkdir(parents=True, exist_ok=True)
    with _only_one(shelf / "lock"):
        if not is_whole(entry):
            _fetch(entry, copy)
    return entry


def is_whole(entry: Path) -> bool:
    """Whether every jar that the download wrote down is there in its full length."""
    try:
        sizes = msgspec.json.decode((entry / MANIFEST).read_bytes(), type=dict[str, int])
        return bool(sizes) and all((entry / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, msgspec.DecodeError):
        return False


def _fetch(entry: Path, copy: Callable[[Path], None]) -> None:
    _log.warning("fetching the broker's jars into %s, once", entry)
    for stray in entry.parent.glob(f"{_STRAY}*"):
        shutil.rmtree(stray, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=_STRAY, dir=entry.parent))
    try:
        copy(fresh)
        sizes = {jar.name: _checked_size(jar) for jar in sorted(fresh.glob("*.jar"))}
        if not sizes:
            raise KafkaError(f"expected the broker's jars in {fresh}, found none: look at {POM}")
        (fresh / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(sizes)))
        if entry.exists():
            shutil.rmtree(entry)
        fresh.rename(entry)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _checked_size(jar: Path) -> int:
    try:
        with zipfile.ZipFile(jar) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile:
        damaged = "its directory"
    if damaged is not None:
        raise KafkaError(
            f"{jar.name} arrived damaged ({damaged}): remove it from Maven's local repository and try again"
        )
    return jar.stat().st_size


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Held by one process or thread at a time; the kernel releases it when its holder dies."""
    with lock.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        print(ensure_jars())
    except KafkaError as error:
        sys.exit(str(error))
