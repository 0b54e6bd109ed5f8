"""The key of a URL, and the one sort of a batch.

    key 64     repository log2(N) | further bits of the server's hash, 20 together | 44 bits of the mixed URL hash
    check 32   20 further bits of the mixed URL hash | 12 further bits of the server's hash

A URL is (key, check); entries are sorted by key, then check. The repository stands first, so that a partition's URLs are one range of
keys and doubling the partitions cuts it in the middle. N is what `partitions.repositories` said when the partition began. In the
state keys are kept by their first 12 bits, which are the repository where N is 4,096, a part of one or several where it is not: whoever
reads and writes the state sees keys alone, and needs no N. The mixed URL hash is the fingerprint XOR (server hash x odd constant).

A new URL is falsely "seen" on a server of ten million known URLs with probability 1e7 / 2^64 = 5.4e-13: all 64 bits of the fingerprint
are compared there. The same path on another server is told apart by all 64 bits of the server's hash, any other URL by 96 bits.

Two URLs with the same key and different checks are two entries, one after the other. Blocks are cut between keys only, so that a
block of colliding keys grows beyond its size; nothing else changes.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from gregor.url.fingerprint import seen_keys
from streams.frontier.storage.uniqueness.facts import U32

U64 = npt.NDArray[np.uint64]
Order = npt.NDArray[np.intp]

REPOSITORY_BITS: Final = 12
"""First bits of a key by which the state keeps directories of blocks."""
REPOSITORIES: Final = 1 << REPOSITORY_BITS
REGIONS: Final = 256
"""Of sixteen repositories each: what a checkpoint adds is written region by region."""
_BELOW: Final = np.uint64(64 - REPOSITORY_BITS)
_BELOW_REGION: Final = np.uint64(56)


def keys_of(server_hashes: U64, fingerprints: U64, repositories: int = REPOSITORIES) -> tuple[U64, U32]:
    """(keys, checks) of URLs: server hashes and fingerprints as in gregor.url.fingerprint, arrays of one length. ``repositories``: N, a
    power of two."""
    # Rotated, the bits that name the repository (hash mod N) come first.
    bits = repositories.bit_length() - 1
    rotated = (server_hashes >> np.uint64(bits)) | (server_hashes << np.uint64(-bits % 64))
    return seen_keys(rotated, fingerprints)


def repositories_of(keys: U64) -> U64:
    return keys >> _BELOW


def repository_of_key(key: int) -> int:
    return key >> int(_BELOW)


def first_key(repository: int) -> int:
    return repository << int(_BELOW)


def regions_of(keys: U64) -> U64:
    return keys >> _BELOW_REGION


def first_key_of_region(region: int) -> int:
    return region << int(_BELOW_REGION)


def arrange(keys: U64, checks: U32) -> Order:
    """The permutation that sorts by (key, check), equal URLs in the order of their indexes.

    Sorting plain numbers is several times faster than sorting indexes by them, so the index is sorted along in the low bits of the
    key. What these bits decided is put right afterwards, among the few keys that agree in all of the others.
    """
    n = len(keys)
    bits = np.uint64(max(n - 1, 1).bit_length())
    low = np.uint64((1 << int(bits)) - 1)
    packed = (keys & ~low) | np.arange(n, dtype=np.uint64)
    packed.sort()
    order: Order = (packed & low).astype(np.intp)
    packed >>= bits
    tied = np.flatnonzero(packed[1:] == packed[:-1])
    if len(tied):
        _settle(order, tied, keys, checks)
    return order


def _settle(order: Order, tied: Order, keys: U64, checks: U32) -> None:
    """Sort ``order`` where positions ``tied`` and their successors agree in the high bits of the key only."""
    one, other = order[tied], order[tied + 1]
    differs = (keys[one] != keys[other]) | (checks[one] != checks[other])
    if not differs.any():
        return
    breaks = np.flatnonzero(np.diff(tied) > 1) + 1
    run_first = np.concatenate(([0], breaks))
    run_last = np.concatenate((breaks, [len(tied)])) - 1
    wrong = np.logical_or.reduceat(differs, run_first)
    begins, ends = tied[run_first[wrong]], tied[run_last[wrong]] + 2
    lengths = ends - begins
    at = np.repeat(begins - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths) + np.arange(lengths.sum())
    some = order[at]
    # Runs are ascending in the high bits, so that sorting all of them at once sorts each of them in its place.
    order[at] = some[np.lexsort((some, checks[some], keys[some]))]


def run_starts(keys: U64, checks: U32) -> Order:
    """Where each URL begins in sorted keys and checks."""
    first = np.empty(len(keys), dtype=np.bool_)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    first[1:] |= checks[1:] != checks[:-1]
    return np.flatnonzero(first)
