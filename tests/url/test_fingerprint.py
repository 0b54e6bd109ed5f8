"""Hashes, repositories and partitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from gregor.url.fingerprint import (
    HashPlacement,
    Placement,
    false_seen_probability,
    fingerprint,
    fingerprints,
    partition_of,
    repository_of,
    seen_keys,
    server_hash,
)

servers = st.text(min_size=1, max_size=30)
words = st.integers(0, 2**64 - 1)
bits = st.integers(0, 63)


def test_hashes_are_those_of_the_format() -> None:
    assert server_hash("example.com") == xxh3_64_intdigest(b"example.com")
    assert fingerprint("http", "/a?b") == xxh3_64_intdigest(b"http\0/a?b")
    assert repository_of("example.com") == xxh3_64_intdigest(b"example.com") % 4096


def test_the_scheme_is_part_of_a_fingerprint() -> None:
    assert fingerprint("http", "/") != fingerprint("https", "/")


@given(st.lists(st.tuples(st.sampled_from(["http", "https"]), st.text(max_size=20)), max_size=20))
def test_many_fingerprints_are_those_of_each(urls: list[tuple[str, str]]) -> None:
    many = fingerprints([scheme for scheme, _ in urls], [path for _, path in urls])
    assert many.dtype == np.uint64
    assert many.tolist() == [fingerprint(scheme, path) for scheme, path in urls]


@given(servers, st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
def test_doubling_the_partitions_splits_each_in_two(server: str, partitions: int) -> None:
    before = partition_of(server, 4096, partitions)
    assert 0 <= before < partitions
    assert partition_of(server, 4096, 2 * partitions) // 2 == before


@given(servers)
def test_placement_by_server_is_the_hash_partition(server: str) -> None:
    placement: Placement = HashPlacement(4096, 8)
    assert placement.partition(server) == partition_of(server, 4096, 8)


def test_placement_by_domain_keeps_a_domain_together() -> None:
    placement = HashPlacement(4096, 64, by="domain")
    hosts = [f"host{number}.example.co.uk:8080" for number in range(50)]
    assert {placement.partition(host) for host in hosts} == {partition_of("example.co.uk", 4096, 64)}
    assert len({HashPlacement(4096, 64).partition(host) for host in hosts}) > 1


def test_placement_takes_another_idea_of_a_domain() -> None:
    assert HashPlacement(4096, 8, by="domain", domain_of=lambda _: "x").partition("y") == partition_of("x", 4096, 8)


@pytest.mark.parametrize(("repositories", "partitions"), [(4096, 0), (4, 8), (4096, 3)])
def test_counts_that_do_not_divide_are_refused(repositories: int, partitions: int) -> None:
    with pytest.raises(ValueError, match="multiple of partitions"):
        HashPlacement(repositories, partitions)


def test_a_false_seen_is_less_likely_than_the_bound() -> None:
    assert false_seen_probability(10_000_000) == pytest.approx(5.42e-13, rel=1e-3)
    assert false_seen_probability(10_000_000) < 1e-12 < false_seen_probability(10_000_000, bits=63)
    assert false_seen_probability(1, bits=1) == pytest.approx(0.5)


@given(words, words, bits)
def test_a_seen_key_tells_any_two_urls_of_a_server_apart(server: int, url: int, bit: int) -> None:
    keys, checks = seen_keys(np.array([server] * 2, dtype=np.uint64), np.array([url, url ^ 1 << bit], dtype=np.uint64))
    assert (keys[0], checks[0]) != (keys[1], checks[1])
    assert int(keys[0]) >> 44 == server >> 44


@given(words, words, bits)
def test_a_seen_key_tells_one_path_on_any_two_servers_apart(path: int, server: int, bit: int) -> None:
    keys, checks = seen_keys(
        np.array([server, server ^ 1 << bit], dtype=np.uint64), np.array([path] * 2, dtype=np.uint64)
    )
    assert (keys[0], checks[0]) != (keys[1], checks[1])
