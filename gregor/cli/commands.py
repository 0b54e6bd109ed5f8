"""The table of commands. Its module is imported when a command is run, so that `gregor --help` stays quick."""

from enum import Enum
from typing import Final, NamedTuple


class Section(Enum):
    """The headings of `gregor --help`, in this order."""

    ONE_MACHINE = "Crawl on one machine"
    CLUSTER = "Crawl on a cluster"
    INSPECT = "Inspect"


class LazyCommand(NamedTuple):
    """Where a command is (`module:attribute`), and what `gregor --help` says of it without importing it."""

    target: str
    help: str
    section: Section


COMMANDS: Final[dict[str, LazyCommand]] = {
    "config": LazyCommand("gregor.cli.config:config", "Show or check the configuration.", Section.INSPECT),
}
