"""What a baseline needs from outside Python: installed as root on Debian, asked for in one sentence anywhere else."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gregor.errors import EXIT_ENVIRONMENT, GregorError

T = TypeVar("T")


class Missing(GregorError):
    """A program or library that a benchmark needs is not there."""

    default_exit_code = EXIT_ENVIRONMENT


def need(what: str, packages: tuple[str, ...], find: Callable[[], T | None]) -> T:
    """What ``find`` finds, after installing the Debian packages when it finds nothing."""
    found = find()
    if found is None and can_install():
        install(packages)
        found = find()
    if found is None:
        raise Missing(
            f"expected {what}, found none", remedy=f"install it (on Debian: apt-get install {' '.join(packages)})"
        )
    return found


def run(main: Callable[[], None]) -> None:
    """A benchmark whose needs are not met ends with their sentence instead of a traceback."""
    try:
        main()
    except GregorError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def can_install() -> bool:
    return os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get") is not None


def install(packages: tuple[str, ...]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        done = subprocess.run(
            ["apt-get", *command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode:
            raise Missing(
                f"apt-get {command[0]} failed: {done.stderr.strip()[-300:]}",
                remedy=f"install {' '.join(packages)} yourself",
            )
