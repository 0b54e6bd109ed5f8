"""What is wrong with one setting, as one printable line: place, key, what was found, what was expected."""

from typing import Any

from msgspec import Struct

LONGEST_SHOWN = 60


class SettingPlace(Struct, frozen=True):
    """Where a value comes from: `text` leads an error ("gregor.toml:12"), `origin` stands in `gregor config show`."""

    text: str
    origin: str


class Problem(Struct, frozen=True):
    """One thing that is wrong. `found` is already fit to be printed."""

    place: str
    key: str
    found: str
    expected: str
    nearest: str = ""

    def __str__(self) -> str:
        line = f"{self.place}: {printable(self.key)}: found {self.found}, expected {self.expected}"
        return f"{line}; the nearest known key is {self.nearest}" if self.nearest else line


def printable(text: str, longest: int = LONGEST_SHOWN) -> str:
    """The text on one line, without what a terminal would obey, cut off when it is long."""
    cut = text[:longest]
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)
    return safe if len(text) <= longest else f"{safe}…"


def describe(value: Any) -> str:
    """A value from a TOML file or a flag, with its kind; the contents of tables and lists are left out."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'the string "{printable(value)}"'
        case dict():
            return f"a table of {len(value)}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case int() if abs(value) >= 10**LONGEST_SHOWN:
            return f"a whole number of more than {LONGEST_SHOWN} digits"
        case int() | float():
            return str(value)
        case _:
            return f"{printable(str(value))} (a {type(value).__name__})"
