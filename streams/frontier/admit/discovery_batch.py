"""A batch of discoveries as columns, the form in which uniqueness is checked."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from xxhash import xxh3_64_intdigest

from schemas.discovered import Discovered
from streams.frontier.dispatch.url_priority import Priority
from streams.frontier.storage.uniqueness.engine import UrlBatch
from streams.frontier.storage.uniqueness.facts import DEEPEST, U8, U16, U32
from streams.frontier.storage.uniqueness.keys import U64

_LARGEST_COUNT = 1 << 20


class DiscoveryBatch:
    """Records, and one row for each of their URLs; the rows of record ``n`` are ``bounds[n]`` to ``bounds[n + 1]``."""

    def __init__(self, records: Sequence[Discovered], priorities: list[int | Sequence[int]]) -> None:
        self.records = records
        self.servers = [found.server.encode() for found in records]
        lengths = [len(found.paths) for found in records]
        self.bounds = [0, *accumulate(lengths)]
        self._given = priorities
        self.encoded: list[bytes] = []
        digests: list[int] = []
        for found in records:
            paths = [path.encode() for path in found.paths]
            scheme = found.scheme.encode() + b"\0"
            self.encoded += paths
            digests += [xxh3_64_intdigest(scheme + path) for path in paths]
        self.fingerprints: U64 = np.array(digests, dtype=np.uint64)
        self.print_bytes = self.fingerprints.astype(">u8").tobytes()
        self.hashes: U64 = np.repeat(
            np.array([xxh3_64_intdigest(name) for name in self.servers], dtype=np.uint64), lengths
        )
        depths = np.array([min(max(found.depth, 0), DEEPEST) for found in records], dtype=np.uint16)
        self.depths: U16 = np.repeat(depths, lengths)
        self.priorities: U8 = self._column(lengths)
        self.counts: U32 = self._counts(lengths)
        self._raised: U8 | None = None

    def _column(self, lengths: list[int]) -> U8:
        if all(isinstance(given, int) for given in self._given):
            return np.repeat(np.array(self._given, dtype=np.uint8), lengths)
        rows: list[int] = []
        for given, length in zip(self._given, lengths, strict=True):
            rows += [given] * length if isinstance(given, int) else given
        return np.array(rows, dtype=np.uint8)

    def _counts(self, lengths: list[int]) -> U32:
        if not any(found.counts for found in self.records):
            return np.ones(self.bounds[-1], dtype=np.uint32)
        rows: list[int] = []
        for found, length in zip(self.records, lengths, strict=True):
            rows += [min(max(count, 1), _LARGEST_COUNT) for count in found.counts] or [1] * length
        return np.array(rows, dtype=np.uint32)

    def owner(self, index: int) -> int:
        """The record that a row belongs to."""
        return bisect_right(self.bounds, index) - 1

    def raise_priorities(self, raised: U8) -> None:
        self.priorities = self._raised = raised

    def common_priority(self, number: int) -> int | None:
        """That of all URLs of a record; None: they differ."""
        given = self._given[number]
        return given if self._raised is None and isinstance(given, int) else None

    def priority_of(self, number: int, index: int) -> int:
        if self._raised is not None:
            return int(self._raised[index])
        given = self._given[number]
        return given if isinstance(given, int) else given[index - self.bounds[number]]

    def found(self, depths: U16) -> UrlBatch:
        """As the engine wants it."""
        return UrlBatch(self.hashes, self.fingerprints, depths, self.priorities, self.counts)


def gather(records: Sequence[Discovered], priority: Priority) -> DiscoveryBatch:
    return DiscoveryBatch(records, [priority.of(found) for found in records])
