"""What an embedded transport is opened with: first what it is, then how fast and how soon."""

from typing import Literal

from msgspec import Struct


class EmbeddedSettings(Struct, frozen=True, kw_only=True):
    """The first three are part of the folder and cannot change."""

    crawl: str
    partitions: int
    placement: Literal["hash", "sites"] = "hash"
    keep: frozenset[str] = frozenset()
    """Topics that are not trimmed although every reader has passed them."""
    session_timeout: float = 30.0
    """Seconds without a poll after which another member of the group takes over."""
    tail_bytes: int = 64 * 1024 * 1024
    """The newest records, kept in memory for readers that keep up."""
    most_unread_records: int = 0
    """Records of a topic that waits for its readers (schemas/topics.py) before those who write it are given nothing more to do.
    0: no bound."""
    most_unread_bytes: int = 0
    """The same in bytes. 0: no bound."""
    trim_records: int = 4096
    """Passed records of a partition after which they are deleted: each deletion leaves a mark that reads must step over."""
    trim_seconds: float = 5.0
    """Passed records are deleted after this long even when they are few, because they may be large."""
    sync_seconds: float = 1.0
    """How much of a crawl the death of the machine may undo; the death of the process undoes nothing."""
