"""The topics as a table in code: what each carries, how it is keyed, split and kept, who writes and who reads it."""

from typing import Final, Literal

from msgspec import Struct

from schemas.codec import LARGEST_RECORD

Stage = Literal["cli", "frontier", "fetcher", "extractor", "archiver", "views", "coordinator", "everybody"]


class Topic(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    """Without the crawl's prefix."""
    carries: str
    """What one record is."""
    key: str
    """What its records are keyed by."""
    partitions: int = 0
    """0: exactly P of the crawl, so that it is split like ``discovered``; otherwise this many."""
    cleanup: Literal["delete", "compact"] = "delete"
    """``delete`` with unlimited retention: only ``gregor trim`` and the rolling snapshot delete anything."""
    max_message_bytes: int = LARGEST_RECORD + 64 * 1024
    """The largest value, and room for its key, its facts and Kafka's framing."""
    written_by: tuple[Stage, ...]
    """Who appends to it."""
    read_by: tuple[Stage, ...]
    """Which of ours read it; empty: it is for users."""
    trimmed_when_passed: bool = False
    """On the embedded transport, whether records go away once every reader has passed them."""
    waits_for_readers: bool = False
    """On the embedded transport, whether those who write it are held back while a reader is too far behind."""

    def partition_count(self, p: int) -> int:
        return self.partitions or p


TOPICS: Final = (
    Topic(
        name="discovered",
        carries="links found on one page to one server, or rows of sites for the partitions that they concern",
        key="server",
        written_by=("cli", "extractor", "frontier", "coordinator"),
        read_by=("frontier",),
    ),
    Topic(
        name="schedule",
        carries="fetch orders",
        key="server, partition chosen by the routing policy",
        written_by=("frontier",),
        read_by=("fetcher",),
        trimmed_when_passed=True,
    ),
    Topic(
        name="fetched",
        carries="the results of one order",
        key="server",
        written_by=("fetcher",),
        read_by=("frontier", "views"),
    ),
    Topic(
        name="pages",
        carries="one HTTP response: body as value, facts as header",
        key="server",
        written_by=("fetcher",),
        read_by=("extractor", "archiver"),
        trimmed_when_passed=True,
        waits_for_readers=True,
    ),
    Topic(
        name="items",
        carries="what the user's rules took out of a page",
        key="server",
        written_by=("extractor",),
        read_by=(),
    ),
    Topic(
        name="archive",
        carries="archive file and its committed length",
        key="file",
        partitions=1,
        cleanup="compact",
        written_by=("archiver",),
        read_by=("archiver", "cli"),
    ),
    Topic(
        name="verdicts",
        carries="why a URL was refused, delayed, dropped or given up",
        key="server",
        written_by=("frontier", "extractor"),
        read_by=("cli", "views"),
    ),
    Topic(
        name="frontier-changelog",
        carries="the frontier's state as deltas, snapshot pieces and checkpoints",
        key="server",
        written_by=("frontier",),
        read_by=("frontier", "cli"),
    ),
    Topic(
        name="sites",
        carries="site partition information",
        key="site",
        partitions=1,
        cleanup="compact",
        written_by=("coordinator",),
        read_by=("extractor", "cli"),
    ),
    Topic(
        name="sites-found",
        carries="sites that were met for the first time, and what people decided of sites",
        key="home or action",
        partitions=1,
        written_by=("frontier", "cli"),
        read_by=("coordinator",),
    ),
    Topic(
        name="coordinator-changelog",
        carries="the coordinator's state as deltas, snapshot pieces and checkpoints",
        key="site",
        partitions=1,
        written_by=("coordinator",),
        read_by=("coordinator", "cli"),
    ),
    Topic(
        name="control",
        carries="layout, pauses, stops, limits and what is used of them, configuration version, servers that seeds were redirected to",
        key="layout, crawl, stop, limits, config, server:NAME, scope:NAME or spent:PARTITION",
        partitions=1,
        cleanup="compact",
        written_by=("cli", "extractor", "frontier"),
        read_by=("everybody",),
    ),
    Topic(
        name="dead-letters",
        carries="records nobody could read",
        key="topic",
        partitions=1,
        written_by=("everybody",),
        read_by=("cli",),
    ),
)

BY_NAME: Final = {topic.name: topic for topic in TOPICS}
