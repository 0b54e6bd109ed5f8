"""Whether topic `sites` says what the registry says: read whole when the partition comes, put right where it does not.

Rows of a compacted topic come in any number of versions, the last one counts. A bit a site, found by the site's rank, remembers whether
the last row met was the registry's own, so that ten million sites take ten megabytes. A row of a site that nobody knows was written by
somebody else: nothing deletes it, but one without a slot, in its place, leads nobody astray.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from msgspec import Struct

from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import Record
from schemas.codec import Undecodable, decoder
from schemas.sites import Site, decode_site
from streams.coordinator.families import REGISTRY
from streams.coordinator.names import LONGEST

CHUNK: Final = 10_000
MOST_FOREIGN: Final = 100_000
"""Sites that nobody knows which are put right at one start."""
MOST_VERSION: Final = 1 << 62


class _Ranked(Struct):
    rank: int = 0


_rank_of = decoder(_Ranked)


class Differences:
    """What is to be written; taken in parts, each of which a checkpoint commits or drops."""

    def __init__(self, state: StateReader, same: bytearray, foreign: dict[str, int]) -> None:
        self._state = state
        self._same = same
        """By rank: 1 where the topic has the registry's row."""
        self._foreign = foreign
        self.rows = same.count(0)
        self.count = self.rows + len(foreign)
        self._from: bytes | None = b"" if self.rows else None
        self._after: tuple[bytes | None, dict[str, int]] | None = None
        """How it stands once what was taken is committed."""

    @property
    def left(self) -> bool:
        return self._from is not None or bool(self._foreign)

    def take(self, limit: int) -> tuple[list[str], list[Site]]:
        """Sites whose rows are to be written as they are now, and rows that are to stand in place of foreign ones."""
        if self._after is not None:
            return [], []
        sites: list[str] = []
        after: bytes | None = None
        for key, value in self._state.scan(REGISTRY, self._from) if self._from is not None else ():
            if len(sites) >= limit:
                after = key
                break
            rank = _rank_of(value).rank
            # Sites that came since then are written by those who changed them.
            if rank < len(self._same) and not self._same[rank]:
                sites.append(key.decode())
        void = [
            Site(site=site, slot=-1, state="found", rank=-1, version=version + 1)
            for site, version in islice(self._foreign.items(), limit)
        ]
        kept = dict(islice(self._foreign.items(), limit, None))
        self._after = after, kept
        return sites, void

    def committed(self) -> None:
        if self._after is not None:
            (self._from, self._foreign), self._after = self._after, None

    def dropped(self) -> None:
        self._after = None


def compare(records: Iterable[Record], state: StateReader, ranks: int) -> Differences:
    """``ranks``: how many sites the registry has."""
    same = bytearray(ranks)
    foreign: dict[str, int] = {}
    several = iter(records)
    while chunk := list(islice(several, CHUNK)):
        keys = [record.key or b"" for record in chunk]
        rows = state.get_many(REGISTRY, keys)
        for key, record, row in zip(keys, chunk, rows, strict=True):
            if row is not None:
                same[_rank_of(row).rank] = row == record.value
            else:
                _look_at_foreign(state, same, foreign, key, record.value)
    return Differences(state, same, foreign)


def _look_at_foreign(
    state: StateReader, same: bytearray, foreign: dict[str, int], key: bytes, value: bytes | None
) -> None:
    """A row under a key that is no site of ours. Tables go by the row's own name of its site; an unreadable one they leave out."""
    try:
        row = decode_site(value)
    except Undecodable:
        return
    name = row.site.encode()
    if name != key and (own := state.get(REGISTRY, name)) is not None:
        same[_rank_of(own).rank] = 0
    elif row.slot < 0:
        foreign.pop(row.site, None)
    elif len(row.site) <= LONGEST and len(foreign) < MOST_FOREIGN:
        foreign[row.site] = min(row.version, MOST_VERSION)
