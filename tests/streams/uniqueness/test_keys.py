"""Keys stand in the order of repositories, batches are sorted exactly, and what is logged comes back or is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.url.fingerprint import false_seen_probability, repository_of, server_hash
from schemas.codec import Undecodable
from streams.frontier.uniqueness.deltas import RECORD_ENTRIES, pack_entries, unpack_entries
from streams.frontier.uniqueness.entries import Entries
from streams.frontier.uniqueness.keys import arrange, keys_of, repositories_of, run_starts

numbers = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2, 3, 2**20, 2**63, 2**64 - 1, 2**64 - 2]))


@given(st.lists(st.tuples(numbers, st.integers(0, 3)), max_size=80))
def test_a_batch_is_sorted_by_key_then_check_then_arrival(pairs: list[tuple[int, int]]) -> None:
    keys = np.array([key for key, _ in pairs], np.uint64)
    checks = np.array([check for _, check in pairs], np.uint32)
    order = arrange(keys, checks)
    assert order.tolist() == sorted(range(len(pairs)), key=lambda i: (*pairs[i], i))
    assert len(run_starts(keys[order], checks[order])) == len(set(pairs))


@given(st.text(min_size=1, max_size=20))
def test_a_key_begins_with_the_repository_of_its_server(server: str) -> None:
    keys, _ = keys_of(np.array([server_hash(server)], np.uint64), np.array([12345], np.uint64))
    assert int(repositories_of(keys)[0]) == repository_of(server)


def test_a_server_of_ten_million_urls_stays_below_the_bound_on_false_seen() -> None:
    assert false_seen_probability(10_000_000) < 1e-12


@given(st.lists(numbers, min_size=2, max_size=50, unique=True), numbers)
def test_different_fingerprints_of_one_server_are_different_urls(fingerprints: list[int], server: int) -> None:
    hashes = np.full(len(fingerprints), server, np.uint64)
    keys, checks = keys_of(hashes, np.array(fingerprints, np.uint64))
    assert len(set(zip(keys.tolist(), checks.tolist(), strict=True))) == len(fingerprints)


def _entries(size: int) -> Entries:
    return Entries(
        np.arange(size, dtype=np.uint64) << np.uint64(40), np.zeros(size, np.uint32), np.ones(size, np.uint32)
    )


def test_logged_entries_come_back_from_few_records() -> None:
    entries = _entries(RECORD_ENTRIES + 5)
    records = pack_entries(entries)
    assert len(records) == 2
    assert all(len(record.delta) <= 512 * 1024 + 8 for record in records)
    back = unpack_entries([record.delta for record in records])
    assert (back.keys == entries.keys).all()
    assert (back.facts == entries.facts).all()


def test_a_damaged_record_is_refused() -> None:
    good = pack_entries(_entries(3))[0].delta
    unsorted = good[:8] + good[16:24] + good[8:16] + good[24:]
    for damaged in (good[:-1], good[:5], b"S" + good[1:], unsorted):
        with pytest.raises(Undecodable):
            unpack_entries([damaged])
