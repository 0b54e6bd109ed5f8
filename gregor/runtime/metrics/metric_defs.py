"""What a metric is, and those that every role may show: name, kind, labels and meaning. docs/metrics.md is made from them.

Loops and stages give figures under these metrics, and each role under some of its own (its `metrics.py`), without knowing who shows
them. All carry the labels ``crawl`` and ``role`` too. A name ends in its unit; a total only grows while its process lives.
"""

from typing import Final, Literal

from msgspec import Struct

Kind = Literal["counter", "gauge", "histogram"]


class Metric(Struct, frozen=True):
    """One metric."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets; the last one, infinity, is understood."""


COUNTS: Final = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
SECONDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

INFO: Final = Metric(
    "gregor_worker_info", "gauge", "Always 1; its labels say who this is.", ("member", "version", "config_version")
)
TURNED: Final = Metric("gregor_loop_turned_timestamp_seconds", "gauge", "When the stage's loop last came round.")
HELD: Final = Metric(
    "gregor_held", "gauge", "1 while the stage takes no input because it cannot finish a checkpoint: a disk is full."
)
RECORDS: Final = Metric(
    "gregor_records_total", "counter", "Records of the inputs that were taken and committed.", ("topic",)
)
URLS: Final = Metric(
    "gregor_urls_total",
    "counter",
    "URLs decided and committed: admitted or refused, ordered, confirmed; links of pages.",
)
OUTPUTS: Final = Metric("gregor_output_records_total", "counter", "Records written and committed.", ("topic",))
OUTPUT_BYTES: Final = Metric("gregor_output_bytes_total", "counter", "Bytes of their values, before compression.")
DEAD_LETTERS: Final = Metric(
    "gregor_dead_letters_total",
    "counter",
    "Records that could not be read, by the topic that they came from.",
    ("topic",),
)
IGNORED: Final = Metric(
    "gregor_broadcast_ignored_total",
    "counter",
    "Records of topics that everybody reads (`control`, `sites`) which could not be read, by topic.",
    ("topic",),
)
BATCH: Final = Metric("gregor_batch_records", "histogram", "Records of one poll that brought any.", bounds=COUNTS)
CHECKPOINT_RECORDS: Final = Metric(
    "gregor_checkpoint_records", "histogram", "Records of the inputs in one checkpoint.", bounds=COUNTS
)
CHECKPOINT_SECONDS: Final = Metric(
    "gregor_checkpoint_seconds",
    "histogram",
    "Time of one commit: files synced, transaction, state written.",
    bounds=SECONDS,
)
CHECKPOINTS_FAILED: Final = Metric(
    "gregor_checkpoints_failed_total",
    "counter",
    "Commits that did not come through; their input comes again.",
    ("reason",),
)
REBALANCES: Final = Metric(
    "gregor_rebalances_total",
    "counter",
    "Changes of the group; lost: the partitions were given away before this member heard of it.",
    ("kind",),
)
PARTITIONS: Final = Metric(
    "gregor_partitions", "gauge", "Partitions of this member: owned, or restoring and not at work yet.", ("state",)
)
RESTORE_DONE: Final = Metric(
    "gregor_restore_done_records",
    "gauge",
    "Changelog replayed so far, of a partition that is being restored.",
    ("partition",),
)
RESTORE_TOTAL: Final = Metric(
    "gregor_restore_total_records", "gauge", "Changelog that has to be replayed.", ("partition",)
)

LAG: Final = Metric(
    "gregor_lag_records",
    "gauge",
    "Committed records of an owned input partition that this member has not passed.",
    ("topic", "partition"),
)
STABLE: Final = Metric(
    "gregor_last_stable_offset",
    "gauge",
    "Offset before which every transaction is decided, of an owned partition of inputs and changelog.",
    ("topic", "partition"),
)
STABLE_LAG: Final = Metric(
    "gregor_lso_lag_records",
    "gauge",
    "High watermark less last stable offset: records that an open transaction hides from every reader.",
    ("topic", "partition"),
)
BROKERS: Final = Metric("gregor_brokers", "gauge", "Brokers in service, as the cluster says.")
UNDER_REPLICATED: Final = Metric(
    "gregor_under_replicated_partitions", "gauge", "Partitions of this role's topics that lack a copy in sync."
)
ANSWERED: Final = Metric(
    "gregor_broker_answered_timestamp_seconds", "gauge", "When the brokers last answered all questions about lag."
)
STATE_BYTES: Final = Metric("gregor_state_bytes", "gauge", "Size of the worker's folder.")
DISK_FREE: Final = Metric(
    "gregor_disk_free_bytes", "gauge", "Free bytes of the disk below the worker's folder or the archive.", ("disk",)
)
DISK_SIZE: Final = Metric("gregor_disk_size_bytes", "gauge", "Size of that disk.", ("disk",))

REFUSALS: Final = Metric(
    "gregor_refusals_total",
    "counter",
    "Links refused, URLs dropped or given up, by reason.",
    ("kind", "reason"),
)

COMMON: Final[tuple[Metric, ...]] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
