"""How a process of gregor starts another one: the same interpreter and the same modules, whatever lies in the working folder.

`python -m` alone puts the working folder first: a user's package `schemas` there would take the place of ours, and a `json.py` that of
Python's.
"""

import os
import sys


def child_command(module: str, *arguments: str) -> list[str]:
    """To run a module; ``child_environment`` goes with it."""
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment() -> dict[str, str]:
    """This process's, with its import path: a child finds what its parent finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.curdir for entry in sys.path)}
