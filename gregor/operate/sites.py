"""What people decide of sites: checked whole before anything is written, then written as records of ``sites-found``.

The coordinator obeys them in the order in which they stand there. One command for many sites is as many records as it needs: a record
is bounded, and so is a letter in the mailbox of a folder (mailbox.py).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gregor.errors import UsageError
from gregor.operate.control_state import server_named
from gregor.operate.site_table import rows_of, told_of
from gregor.runtime.transport.port import LogReader, Output
from gregor.url.domain import registered_domain
from schemas.codec import encode
from schemas.sites_found import SiteAction, SiteCommand, SiteSetting

MOST: Final = 10**12
"""Of a budget or a depth, as in the configuration."""
MOST_TAGS: Final = 32
LONGEST_TAG: Final = 100
RECORD_BYTES: Final = 256 * 1024
"""Settings of one record, about: a consumer takes them in between two checkpoints."""
LETTER_BYTES: Final = 8 * 1024 * 1024
"""Records that are written together, about."""
_TAG: Final = re.compile(r"[^\s;,](?:[^;,\x00-\x1f\x7f]*[^\s;,])?")


class SiteCommands(Struct, frozen=True, kw_only=True, tag="sites"):
    """Records of ``sites-found``, written together. The coordinator finds nothing to change when they come twice."""

    commands: tuple[SiteCommand, ...]


class Who(Struct, frozen=True):
    """Who decides, when and why."""

    by: str
    at_ms: int
    detail: str = ""


def site_named(text: str, partition_by: Literal["server", "domain"]) -> SiteSetting:
    """A site as the crawl knows it, from its name or a URL of it; UsageError when it cannot be one."""
    scheme: Literal["http", "https"] = "http" if text.lower().startswith("http://") else "https"
    server = server_named(text)
    return SiteSetting(site=registered_domain(server) if partition_by == "domain" else server, scheme=scheme)


def require_known(reader: LogReader, sites: Sequence[str]) -> None:
    """UsageError when nobody has met one of them: neither a row nor anything that the coordinator was told has it."""
    missing = set(sites) - rows_of(reader, sites).keys()
    missing -= told_of(reader, missing) if missing else set()
    for site in sites:
        if site in missing:
            raise UsageError(
                f"expected a site of this crawl, found {site}, which nobody has met",
                remedy="`gregor sites` lists them, `gregor sites add` makes one known",
            )


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Sorted, each once; UsageError when one cannot be a tag."""
    found = tuple(sorted(set(tags)))
    for tag in found:
        if len(tag) > LONGEST_TAG or _TAG.fullmatch(tag) is None:
            raise UsageError(
                f"expected a tag of 1 to {LONGEST_TAG} characters without commas and semicolons, found {tag!r}"
            )
    if len(found) > MOST_TAGS:
        raise UsageError(f"expected at most {MOST_TAGS} tags of a site, found {len(found)}")
    return found


def checked_slots(slots: int, partitions: int) -> int:
    if not 0 <= slots <= partitions:
        raise UsageError(
            f"expected at most {partitions} slots, as many as the crawl has partitions, found {slots}",
            remedy="0 stands for all of them",
        )
    return slots


def slots_command(slots: int, who: Who) -> SiteCommands:
    command = SiteCommand(action="slots", slots=slots, by=who.by, detail=who.detail, at_ms=who.at_ms)
    return SiteCommands(commands=(command,))


def letters(action: SiteAction, settings: Iterable[SiteSetting], who: Who) -> Iterator[SiteCommands]:
    """One command for many sites, in parts that can be written at once."""
    return in_letters(records(action, settings, who))


def records(action: SiteAction, settings: Iterable[SiteSetting], who: Who) -> Iterator[SiteCommand]:
    """One command for many sites, as records of ``sites-found``."""
    empty = SiteCommand(action=action, by=who.by, detail=who.detail, at_ms=who.at_ms)
    part: list[SiteSetting] = []
    size = 0
    for setting in settings:
        part.append(setting)
        size += len(encode(setting)) + 1
        if size >= RECORD_BYTES:
            yield replace(empty, sites=tuple(part))
            part, size = [], 0
    if part:
        yield replace(empty, sites=tuple(part))


def in_letters(commands: Iterable[SiteCommand]) -> Iterator[SiteCommands]:
    part: list[SiteCommand] = []
    size = 0
    for command in commands:
        part.append(command)
        size += len(encode(command))
        if size >= LETTER_BYTES:
            yield SiteCommands(commands=tuple(part))
            part, size = [], 0
    if part:
        yield SiteCommands(commands=tuple(part))


def site_outputs(told: SiteCommands) -> list[Output]:
    return [Output("sites-found", 0, command.action.encode(), encode(command)) for command in told.commands]
