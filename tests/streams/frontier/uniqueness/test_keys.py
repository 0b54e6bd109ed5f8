"""Keys stand in the order of repositories, batches are sorted exactly, and what is logged comes back or is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.url.fingerprint import false_seen_probability, repository_of, server_hash
from schemas.codec import Undecodable
from streams.frontier.storage.uniqueness.deltas import (
    RECORD_ENTRIES,
    LoggedEntries,
    Ranges,
    no_ranges,
    pack_entries,
    unpack_entries,
)
from streams.frontier.storage.uniqueness.entries import Entries, newest
from streams.frontier.storage.uniqueness.keys import arrange, keys_of, run_starts

numbers = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2, 3, 2**20, 2**63, 2**64 - 1, 2**64 - 2]))


@given(st.lists(st.tuples(numbers, st.integers(0, 3)), max_size=80))
def test_a_batch_is_sorted_by_key_then_check_then_arrival(pairs: list[tuple[int, int]]) -> None:
    keys = np.array([key for key, _ in pairs], np.uint64)
    checks = np.array([check for _, check in pairs], np.uint32)
    order = arrange(keys, checks)
    assert order.tolist() == sorted(range(len(pairs)), key=lambda i: (*pairs[i], i))
    assert len(run_starts(keys[order], checks[order])) == len(set(pairs))


@given(st.text(min_size=1, max_size=20), st.sampled_from([1, 2, 64, 4096, 65_536]))
def test_a_key_begins_with_the_repository_of_its_server(server: str, repositories: int) -> None:
    keys, _ = keys_of(np.array([server_hash(server)], np.uint64), np.array([12345], np.uint64), repositories)
    assert int(keys[0]) * repositories >> 64 == repository_of(server, repositories)


def test_a_server_of_ten_million_urls_stays_below_the_bound_on_false_seen() -> None:
    assert false_seen_probability(10_000_000) < 1e-12


@given(st.lists(numbers, min_size=2, max_size=50, unique=True), numbers, st.sampled_from([1, 64, 4096, 65_536]))
def test_different_fingerprints_of_one_server_are_different_urls(
    fingerprints: list[int], server: int, repositories: int
) -> None:
    hashes = np.full(len(fingerprints), server, np.uint64)
    keys, checks = keys_of(hashes, np.array(fingerprints, np.uint64), repositories)
    assert len(set(zip(keys.tolist(), checks.tolist(), strict=True))) == len(fingerprints)


def _entries(size: int) -> Entries:
    return Entries(
        np.arange(size, dtype=np.uint64) << np.uint64(40), np.zeros(size, np.uint32), np.ones(size, np.uint32)
    )


def test_logged_entries_come_back_from_few_records() -> None:
    entries = _entries(RECORD_ENTRIES + 5)
    ranges = Ranges(np.array([0, 7], np.uint64), np.array([5, 2**64 - 1], np.uint64))
    records = pack_entries(LoggedEntries(entries, 77, ranges))
    assert len(records) == 2
    assert all(len(record.delta) <= 512 * 1024 + 64 for record in records)
    back = unpack_entries([record.delta for record in records])
    assert (back.entries.keys == entries.keys).all()
    assert (back.entries.facts == entries.facts).all()
    assert back.number == 77
    assert (back.ranges.lows.tolist(), back.ranges.highs.tolist()) == ([0, 7], [5, 2**64 - 1])


def test_a_damaged_record_is_refused() -> None:
    good = pack_entries(LoggedEntries(_entries(3), 1, no_ranges()))[0].delta
    unsorted = good[:12] + good[20:28] + good[12:20] + good[28:]
    for damaged in (good[:-1], good[:5], b"S" + good[1:], unsorted):
        with pytest.raises(Undecodable):
            unpack_entries([damaged])


@given(st.lists(st.integers(0, 60), max_size=40), st.lists(st.integers(0, 30), max_size=12, unique=True))
def test_ranges_hold_what_lies_between_their_ends(keys: list[int], edges: list[int]) -> None:
    """Edges in pairs are ranges; the last one may reach up to the last key there is."""
    pairs = list(zip(*[iter(sorted(edges))] * 2, strict=False))
    ranges = Ranges(np.array([low for low, _ in pairs], np.uint64), np.array([high for _, high in pairs], np.uint64))
    held = ranges.hold(np.array(sorted(keys), np.uint64))
    assert held.tolist() == [any(low <= key <= high for low, high in pairs) for key in sorted(keys)]


def test_of_several_entries_for_one_url_the_last_counts() -> None:
    entries = Entries(
        np.array([5, 3, 5, 5], np.uint64), np.array([1, 1, 2, 1], np.uint32), np.arange(4, dtype=np.uint32)
    )
    kept = newest(entries)
    assert list(zip(kept.keys.tolist(), kept.checks.tolist(), kept.facts.tolist(), strict=True)) == [
        (3, 1, 1),
        (5, 1, 3),
        (5, 2, 2),
    ]
