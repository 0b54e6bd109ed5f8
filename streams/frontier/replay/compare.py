"""Two states of one partition, walked through side by side: which URLs each of them knows, and in which state of their life."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import LogReader
from gregor.url.fingerprint import fingerprint, server_hash
from schemas.codec import Undecodable
from schemas.discovered import SiteRows, decode_discovery
from streams.frontier.inspect import LIVES, Life
from streams.frontier.partition_state import read_facts
from streams.frontier.replay.orders import Reached
from streams.frontier.storage.uniqueness.engine import UniquenessEngine
from streams.frontier.storage.uniqueness.entries import Entries, find, no_entries
from streams.frontier.storage.uniqueness.facts import Facts, UrlState
from streams.frontier.storage.uniqueness.keys import REGIONS, keys_of
from streams.frontier.storage.uniqueness.walk import regions

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
        pair = Pair(LIVES.get(code // _PAIRS, "unknown"), LIVES.get(code % _PAIRS, "unknown"))
        some = which[:most] if pair.then != pair.now else which[:0]
        keys = ((int(entries.keys[index]), int(entries.checks[index])) for index in some)
        seen.add(pair, len(which), keys, most)


def name_urls(log: LogReader, partition: int, end: int, wanted: Iterable[Key], repositories: int) -> dict[Key, str]:
    """The URLs behind keys, as far as ``discovered`` still has them. Reads until all are found. ``repositories``: N of the keys."""
    names: dict[Key, str] = {}
    left = set(wanted)
    for keys, urls in _keyed(log, partition, end, repositories) if left else ():
        for number, key in enumerate(keys):
            if key in left:
                left.discard(key)
                names[key] = urls[number]
        if not left:
            break
    return names


def _keyed(log: LogReader, partition: int, end: int, repositories: int) -> Iterator[tuple[list[Key], list[str]]]:
    for record in log.read("discovered", partition, 0, end):
        try:
            found = decode_discovery(record.value)
        except Undecodable:
            continue
        if isinstance(found, SiteRows):
            continue
        prints = np.array([fingerprint(found.scheme, path) for path in found.paths], dtype=np.uint64)
        hashes = np.full(len(prints), server_hash(found.server), dtype=np.uint64)
        keys, checks = keys_of(hashes, prints, repositories)
        pairs = list(zip(keys.tolist(), checks.tolist(), strict=True))
        yield pairs, [f"{found.scheme}://{found.server}{path}" for path in found.paths]


def everywhere(server: int, prints: Sequence[int]) -> Sequence[bool]:
    return [True] * len(prints)


def sorted_by(state: StateReader) -> int:
    """The number of repositories that the keys of a state go by."""
    return read_facts(state).sorted_by


def refused_by(state: StateReader) -> Reached:
    """The URLs that a state has refused."""
    engine = UniquenessEngine(state, repositories=sorted_by(state))

    def reached(server: int, prints: Sequence[int]) -> Sequence[bool]:
        hashes = np.full(len(prints), server, dtype=np.uint64)
        known, facts = engine.look_up(hashes, np.array(prints, dtype=np.uint64))
        came: list[bool] = (known & (Facts(facts).state == UrlState.REFUSED)).tolist()
        return came

    return reached
