"""The table of commands. Its module is imported when a command is run, so that `gregor --help` stays quick."""

from enum import Enum
from typing import Final, NamedTuple


class Section(Enum):
    """The headings of `gregor --help`, in this order."""

    ONE_MACHINE = "Crawl on one machine"
    CLUSTER = "Crawl on a cluster"
    ARCHIVE = "Use what was fetched"
    OPERATE = "Look after a crawl, here or on a cluster"
    INSPECT = "Inspect"


class LazyCommand(NamedTuple):
    """Where a command is (`module:attribute`), and what `gregor --help` says of it without importing it."""

    target: str
    help: str
    section: Section


COMMANDS: Final[dict[str, LazyCommand]] = {
    "crawl": LazyCommand(
        "gregor.cli.crawl:crawl", "Crawl with one command, on this machine alone.", Section.ONE_MACHINE
    ),
    "cluster": LazyCommand(
        "gregor.cli.cluster:cluster", "Crawl with a small cluster on this machine.", Section.CLUSTER
    ),
    "topics": LazyCommand("gregor.cli.topics:topics", "Check or create the crawl's topics.", Section.CLUSTER),
    "seed": LazyCommand("gregor.cli.seed:seed", "Give a crawl URLs to begin with.", Section.CLUSTER),
    "worker": LazyCommand("gregor.cli.worker:worker", "Run one stage of a crawl, or its live page.", Section.CLUSTER),
    "stop": LazyCommand("gregor.cli.stop:stop", "Let all workers of a crawl leave.", Section.CLUSTER),
    "rebuild": LazyCommand(
        "gregor.cli.rebuild:rebuild", "Throw a worker's state away; its next start restores it.", Section.CLUSTER
    ),
    "index": LazyCommand("gregor.cli.index:index", "Index an archive: CDXJ and Parquet.", Section.ARCHIVE),
    "export": LazyCommand(
        "gregor.cli.export:export", "Take pages out of an archive: bodies, text or JSONL.", Section.ARCHIVE
    ),
    "items": LazyCommand("gregor.cli.items:items", "Take the items of a crawl: JSONL or Parquet.", Section.ARCHIVE),
    "rearchive": LazyCommand("gregor.cli.rearchive:rearchive", "Make an archive again from the log.", Section.ARCHIVE),
    "reextract": LazyCommand(
        "gregor.cli.reextract:reextract", "Take items again from old pages, by new rules.", Section.ARCHIVE
    ),
    "report": LazyCommand("gregor.cli.report:report", "Make the report of a crawl again.", Section.ONE_MACHINE),
    "status": LazyCommand("gregor.cli.status:status", "Tell how a crawl is doing.", Section.OPERATE),
    "explain": LazyCommand("gregor.cli.explain:explain_command", "Tell the whole story of a URL.", Section.OPERATE),
    "pause": LazyCommand("gregor.cli.pause:pause", "Hold a crawl, or one server, back.", Section.OPERATE),
    "resume": LazyCommand("gregor.cli.pause:resume", "Let a crawl, or one server, go on.", Section.OPERATE),
    "sites": LazyCommand("gregor.cli.sites:sites", "List, approve, block or import sites.", Section.OPERATE),
    "dead-letters": LazyCommand(
        "gregor.cli.dead_letters:dead_letters", "List, show or put back unreadable records.", Section.OPERATE
    ),
    "trim": LazyCommand("gregor.cli.trim:trim", "Delete what every reader has passed.", Section.OPERATE),
    "audit": LazyCommand(
        "gregor.cli.audit:audit_command", "Prove or refute that nothing is lost or twice.", Section.INSPECT
    ),
    "replay": LazyCommand(
        "gregor.cli.replay:replay_command", "Make the frontier again from its topics; compare.", Section.INSPECT
    ),
    "plan": LazyCommand("gregor.cli.plan:plan_command", "Say what a large crawl will take.", Section.INSPECT),
    "config": LazyCommand("gregor.cli.config:config", "Show or check the configuration.", Section.INSPECT),
}
