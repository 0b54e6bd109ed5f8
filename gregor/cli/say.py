"""The one way in which commands print: what strangers wrote stands among their words, and none of it may speak to the terminal."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, Final, cast

import click
import msgspec

from gregor.printable import escaped, printable

CLEAR: Final = "\033[H\033[J"
REWRITE: Final = "\r\033[K"
PIPED_WIDTH: Final = 80
_NOT_ASCII = re.compile(r"[^\n\x20-\x7e]+")


def say(line: str, *, err: bool = False) -> None:
    """One line."""
    click.echo(printable(line), err=err)


def say_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Several lines at once."""
    click.echo("\n".join(map(printable, lines)), err=err)


def say_on_cleared_screen(lines: Iterable[str]) -> None:
    """Where the last ones stood, if this is a terminal."""
    clear = CLEAR if sys.stdout.isatty() else ""
    click.echo(clear + "\n".join(map(printable, lines)))
    sys.stdout.flush()


def say_in_place(line: str) -> None:
    """Instead of the last line, on stderr, which must be a terminal; nothing is left of an empty one."""
    click.echo(f"{REWRITE}{printable(line)}", err=True, nl=False)


def say_json(document: Any, *, indent: int = 0) -> None:
    """For programs."""
    click.echo(as_json(document, indent))
    sys.stdout.flush()


def as_json(document: Any, indent: int = 0) -> str:
    """JSON in ASCII, so that it is the same whatever the terminal's encoding is; 0: on one line."""
    encoded = msgspec.json.encode(document)
    text = (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()
    # Beyond ASCII nothing but text within quotes is JSON, so that it may be escaped where it stands.
    return _NOT_ASCII.sub(lambda run: escaped(run[0]), text)


def width() -> int:
    """Columns of the terminal; 80 if there is none."""
    return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if sys.stdout.isatty() else PIPED_WIDTH


def standard_output() -> BinaryIO:
    """For what is given out byte for byte: to files and programs as it is, to a terminal printable, line by line."""
    return cast(BinaryIO, _Terminal()) if sys.stdout.isatty() else sys.stdout.buffer


class _Terminal:
    def write(self, data: bytes) -> int:
        lines = data.decode("utf-8", "backslashreplace").split("\n")
        click.echo("\n".join(map(printable, lines)), nl=False)
        return len(data)
