"""One TOML file: found, read within bounds, parsed, and the line of each of its keys."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gregor.config.problems import SettingPlace, printable
from gregor.errors import ConfigError

DEFAULT_NAME: Final = "gregor.toml"
MAX_BYTES: Final = 1024 * 1024
MAX_NESTING: Final = 32

# tomllib takes quadratic time for a key of very many parts. Keys begin a line, a header or an inline table.
_NAME = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_TOO_MANY_PARTS = re.compile(rf"(?:^|[{{,\[])[ \t]*+(?:{_NAME}[ \t]*+\.[ \t]*+){{{MAX_NESTING}}}", re.MULTILINE)
_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"[ \t]*+(\[\[?)([^\]\n]++)\]")
_KEY = re.compile(rf"[ \t]*+({_NAME}(?:[ \t]*+\.[ \t]*+{_NAME})*+)[ \t]*+=")
_PART = re.compile(_NAME)


class ConfigFile(Struct, frozen=True):
    """The contents of one file.

    `lines` gives the line of a key path; a key written with escapes or inside an inline table has that of its table.
    """

    name: str
    tree: Mapping[str, Any]
    lines: Mapping[str, int]

    def place(self, path: str) -> SettingPlace:
        line = next((self.lines[prefix] for prefix in _prefixes(path) if prefix in self.lines), None)
        text = self.name if line is None else f"{self.name}:{line}"
        return SettingPlace(text, f"file {text}")


def locate(path: Path | None, env: Mapping[str, str]) -> Path | None:
    """The file to read: the one asked for, the one in GREGOR_CONFIG, or gregor.toml here; None when there is none."""
    if path is not None:
        return path
    if named := env.get("GREGOR_CONFIG"):
        return Path(named)
    here = Path(DEFAULT_NAME)
    return here if here.exists() else None


def read(path: Path) -> ConfigFile:
    name = printable(str(path), 200)
    return parse(_text(path, name), name)


def parse(text: str, name: str) -> ConfigFile:
    """``name`` is what errors call the text."""
    # Checked before parsing: how deep a key may nest.
    if found := _TOO_MANY_PARTS.search(text):
        line = text.count("\n", 0, found.start() + 1) + 1
        raise ConfigError(f"{name}:{line}: found a key of more than {MAX_NESTING} parts, expected section.key")
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax_error(name, text, str(error))) from None
    except RecursionError:
        raise ConfigError(f"{name}: found values nested too deeply, expected at most {MAX_NESTING} levels") from None
    except ValueError as error:
        raise ConfigError(f"{name}: not valid TOML: {printable(str(error), 200)}") from None
    return ConfigFile(name, tree, dict(_lines(text)))


def _text(path: Path, name: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise ConfigError(f"{name}: the configuration cannot be read: {reason}") from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{name}: found more than {MAX_BYTES} bytes, expected a TOML file of at most 1 MiB")
    if b"\0" in content:
        raise ConfigError(f"{name}: found binary data (a zero byte at {content.index(0)}), expected a TOML file")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{content[error.start]:02x}"
        raise ConfigError(f"{name}:{line}: found {found}, expected UTF-8 text") from None


def _syntax_error(name: str, text: str, message: str) -> str:
    where = _WHERE.search(message)
    reason = printable(_WHERE.sub("", message), 200)
    if where is None:
        return f"{name}: not valid TOML: {reason}"
    line, column = where.groups()
    if line is None:
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    return f"{name}:{line}:{column}: not valid TOML: {reason}"


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Key paths and their lines, from a text that is known to be valid TOML."""
    table = ""
    arrays: dict[str, int] = {}
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        if quote:
            quote = "" if line.count(quote) % 2 else quote
            continue
        if header := _HEADER.match(line):
            first, dot, rest = _path(header[2]).partition(".")
            if header[1] == "[[" and not rest:
                arrays[first] = arrays.get(first, -1) + 1
            table = (f"{first}[{arrays[first]}]" if first in arrays else first) + dot + rest
            yield table, number
        elif key := _KEY.match(line):
            path = _path(key[1])
            yield (f"{table}.{path}" if table else path), number
        if not line.startswith("#"):
            quote = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")


def _path(dotted: str) -> str:
    return ".".join(part.strip("\"'") for part in _PART.findall(dotted))


def _prefixes(path: str) -> Iterator[str]:
    """The path, then shorter and shorter ones: those of the tables it is in."""
    while path:
        yield path
        path = path.rpartition(".")[0]
