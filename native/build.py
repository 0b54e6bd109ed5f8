"""Builds the native reader with cargo: `python native/build.py` installs it beside the packages of that interpreter; the wheel's build
asks here too. Where it cannot be built one line says why, and gregor reads pages by Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
MODULE: Final = "gregor_native.abi3.so"
_BUILT: Final = HERE / "target" / "release" / "libgregor_native.so"


def build() -> Path | str:
    """The module's file, or why there is none."""
    if sys.platform != "linux":
        return f"it is built on Linux only, and this is {sys.platform}"
    for program, what in (("cargo", "Rust 1.85 or newer"), ("c++", "a compiler of C++20")):
        if shutil.which(program) is None:
            return f"{program} is not on the path ({what})"
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", str(HERE / "Cargo.toml")]
    # Whatever the environment says of another place is for other projects.
    command += ["--target-dir", str(HERE / "target")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout)
        return f"cargo ended with {done.returncode}, see above"
    return _BUILT


def main() -> None:
    built = build()
    if isinstance(built, str):
        print(f"gregor reads pages by Python, the native reader was not built: {built}")
        return
    target = Path(sysconfig.get_path("platlib")) / MODULE
    # A process that has it open keeps the old one.
    fresh = target.with_suffix(".new")
    shutil.copy(built, fresh)
    fresh.replace(target)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).touch()


if __name__ == "__main__":
    main()
