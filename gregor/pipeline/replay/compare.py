"""Two states of one partition, walked through side by side: which URLs each of them knows, and in which state of their life."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import numpy as np
from msgspec import Struct

from gregor.state.store import StateReader
from gregor.transport.port import LogReader
from gregor.url.fingerprint import fingerprint, server_hash
from schemas.codec import Undecodable
from schemas.discovered import decode_discovered
from streams.frontier.uniqueness.entries import Entries, find, no_entries
from streams.frontier.uniqueness.facts import UrlState
from streams.frontier.uniqueness.keys import REGIONS, keys_of
from streams.frontier.uniqueness.walk import regions

Life = Literal["unknown", "waiting", "fetched", "failed", "refused"]
"""Where a URL is. Whether it is queued, ordered or waits for its next attempt depends on the clock: it waits."""

_LIVES: Final[dict[int, Life]] = {
    UrlState.WAITING: "waiting",
    UrlState.ORDERED: "waiting",
    UrlState.FETCHED: "fetched",
    UrlState.FAILED: "failed",
    UrlState.REFUSED: "refused",
}
_ABSENT: Final = 15
"""In place of a state: the URL is not known."""
_PAIRS: Final = 16

Key = tuple[int, int]
"""Of a URL in the state: key and check."""


class Pair(Struct, frozen=True, order=True):
    """A URL's life in the crawl and in the replay."""

    then: Life
    now: Life


class Seen(Struct):
    """How many URLs stand where, and the first ones of each way in which the two differ."""

    counts: dict[Pair, int]
    examples: dict[Pair, list[Key]]

    def add(self, pair: Pair, count: int, keys: Iterable[Key], most: int) -> None:
        self.counts[pair] = self.counts.get(pair, 0) + count
        shown = self.examples.setdefault(pair, [])
        shown += [key for _, key in zip(range(most - len(shown)), keys, strict=False)]


def compare(then: StateReader | None, now: StateReader, most: int) -> Seen:
    """``then`` None: there is nothing to compare with, and every URL is counted as if it were the same. ``most``: examples of each way."""
    seen = Seen({}, {})
    ours = regions(now)
    theirs = regions(then) if then is not None else iter([no_entries()] * REGIONS)
    for old, new in zip(theirs, ours, strict=True):
        _compare(new if then is None else old, new, seen, most)
    return seen


def _compare(old: Entries, new: Entries, seen: Seen, most: int) -> None:
    at, found = find(new, old.keys, old.checks)
    state_then = (old.facts >> np.uint32(28)).astype(np.intp)
    state_now = np.full(len(old), _ABSENT, dtype=np.intp)
    state_now[found] = (new.facts[at[found]] >> np.uint32(28)).astype(np.intp)
    _count(old, state_then * _PAIRS + state_now, seen, most)
    _, known = find(old, new.keys, new.checks)
    added = new[~known]
    _count(added, _ABSENT * _PAIRS + (added.facts >> np.uint32(28)).astype(np.intp), seen, most)


def _count(entries: Entries, pairs: np.ndarray[tuple[int], np.dtype[np.intp]], seen: Seen, most: int) -> None:
    for code in np.unique(pairs).tolist():
        which = np.flatnonzero(pairs == code)
        pair = Pair(_LIVES.get(code // _PAIRS, "unknown"), _LIVES.get(code % _PAIRS, "unknown"))
        some = which[:most] if pair.then != pair.now else which[:0]
        keys = ((int(entries.keys[index]), int(entries.checks[index])) for index in some)
        seen.add(pair, len(which), keys, most)


def name_urls(log: LogReader, partition: int, end: int, wanted: Iterable[Key]) -> dict[Key, str]:
    """The URLs behind keys, as far as ``discovered`` still has them. Reads until all are found."""
    names: dict[Key, str] = {}
    left = set(wanted)
    for keys, urls in _keyed(log, partition, end) if left else ():
        for number, key in enumerate(keys):
            if key in left:
                left.discard(key)
                names[key] = urls[number]
        if not left:
            break
    return names


def _keyed(log: LogReader, partition: int, end: int) -> Iterator[tuple[list[Key], list[str]]]:
    for record in log.read("discovered", partition, 0, end):
        try:
            found = decode_discovered(record.value)
        except Undecodable:
            continue
        prints = np.array([fingerprint(found.scheme, path) for path in found.paths], dtype=np.uint64)
        hashes = np.full(len(prints), server_hash(found.server), dtype=np.uint64)
        keys, checks = keys_of(hashes, prints)
        pairs = list(zip(keys.tolist(), checks.tolist(), strict=True))
        yield pairs, [f"{found.scheme}://{found.server}{path}" for path in found.paths]
