"""Programs in Python environments of their own, beside gregor's: they need other versions of libraries than gregor does.

An environment is made when it is first asked for, from a lock file with the digest of everything in it, and again when that changes.
"""

import fcntl
import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from infra.kafka.jars import cache_folder

_log: Final = logging.getLogger("gregor.infra")


def programs_of(name: str, lock: Path) -> Path:
    """The folder of its programs. Several processes may ask at once."""
    home = cache_folder() / name
    stamp, programs = home / "installed", home / "bin"
    if _is_made(stamp, lock):
        return programs
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / f"{name}.lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not _is_made(stamp, lock):
            _log.warning("installing %s into %s, once; this takes a minute or two", name, home)
            shutil.rmtree(home, ignore_errors=True)
            run(sys.executable, "-I", "-m", "venv", home)
            # The lock names everything: pip, which knows a package with extras for another one than without, need not look for more.
            run(programs / "pip", "install", "--quiet", "--no-compile", "--no-deps", "--require-hashes", "-r", lock)
            stamp.write_bytes(lock.read_bytes())
    return programs


def _is_made(stamp: Path, lock: Path) -> bool:
    return stamp.is_file() and stamp.read_bytes() == lock.read_bytes()


def run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise GregorError(f"{command[0]} failed: {(done.stderr or done.stdout)[-2000:]}", exit_code=EXIT_ENVIRONMENT)
