"""Which record type each topic carries, and how it is read: for whoever meets a topic by its name."""

from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import Struct

from schemas.archive import ArchiveFile, decode_archive_file
from schemas.changelog import Checkpoint, decode_checkpoint
from schemas.control import ConfigVersion, Layout, Limits, Pause, Spent, Stop, decode_control
from schemas.dead_letters import DeadLetter, decode_dead_letter
from schemas.discovered import Discovered, SiteRows, decode_discovery
from schemas.fetched import Fetched, decode_fetched
from schemas.items import Item, decode_item
from schemas.pages import PageFacts, decode_facts
from schemas.schedule import FetchOrder, decode_order
from schemas.sites import Site, decode_site
from schemas.sites_found import SiteCommand, SitesFound, decode_site_note
from schemas.verdicts import Verdict, decode_verdict


class Format(Struct, frozen=True):
    """How the records of one topic are read."""

    types: tuple[type[Struct], ...]
    """More than one: told apart by the field ``type``, which at most the first lacks."""
    decode: Callable[[bytes], Any]
    """Raises Undecodable and nothing else."""
    part: Literal["value", "header"] = "value"
    """Where the JSON stands; with ``header`` the value is bytes of any kind."""


FORMATS: Final[dict[str, Format]] = {
    "discovered": Format((Discovered, SiteRows), decode_discovery),
    "schedule": Format((FetchOrder,), decode_order),
    "fetched": Format((Fetched,), decode_fetched),
    "pages": Format((PageFacts,), decode_facts, "header"),
    "items": Format((Item,), decode_item),
    "archive": Format((ArchiveFile,), decode_archive_file),
    "verdicts": Format((Verdict,), decode_verdict),
    # Of the three kinds of record in a changelog the checkpoint alone is JSON, behind its first byte.
    "frontier-changelog": Format((Checkpoint,), decode_checkpoint),
    "sites": Format((Site,), decode_site),
    "sites-found": Format((SitesFound, SiteCommand), decode_site_note),
    "coordinator-changelog": Format((Checkpoint,), decode_checkpoint),
    "control": Format((Layout, Pause, Limits, ConfigVersion, Spent, Stop), decode_control),
    "dead-letters": Format((DeadLetter,), decode_dead_letter, "header"),
}
