"""What every benchmark shares: its options, the machine it ran on, a table, and one JSON object at the end."""

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any


def options(description: str | None, *, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """``--quick`` and ``--json``; for more of them use ``parser``."""
    return parser(description).parse_args(arguments)


def parser(description: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help="under a minute, with smaller sizes")
    made.add_argument("--json", action="store_true", help="the last line is one JSON object")
    return made


def machine(*packages: str) -> str:
    """One line that says where the figures come from."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def finish(figures: Mapping[str, Any], as_json: bool) -> None:
    """The plain figures as a table, and with ``--json`` everything as the last line."""
    for name, figure in figures.items():
        if isinstance(figure, int | float):
            print(f"{name:<36}{figure:>16,}")
    if as_json:
        print(json.dumps(figures))
