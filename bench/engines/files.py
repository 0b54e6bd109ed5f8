"""Files of arrays, read and written in order, every byte counted; and the merge of sorted keys into one of them."""

import os
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from bench.engines.interface import U64, Stats

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_CHUNK_BYTES: Final = 8 * 1024 * 1024
"""Of a repository, in memory at once: the Delta of paper 000."""
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


class Traffic:
    """Bytes through all files of an engine."""

    def __init__(self) -> None:
        self.read = 0
        self.written = 0

    def stats(self) -> Stats:
        return Stats(self.read, self.written)


class ArrayFile:
    """One file; without a buffer of its own, because arrays are large."""

    def __init__(self, path: Path, mode: Literal["rb", "wb", "ab", "r+b"], traffic: Traffic) -> None:
        self._file = open(path, mode, buffering=0)  # noqa: SIM115 - it lives as long as the object
        self._traffic = traffic

    def __enter__(self) -> "ArrayFile":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def write(self, array: Array) -> None:
        rest = np.ascontiguousarray(array).view(np.uint8).data
        self._traffic.written += len(rest)
        while rest:
            rest = rest[self._file.write(rest) :]

    def read(self, dtype: np.dtype[Any], count: int) -> Array:
        raw = np.empty(count * dtype.itemsize, np.uint8)
        rest = raw.data
        while rest:
            got = self._file.readinto(rest)
            if not got:
                raise EOFError(
                    f"{self._file.name} ends {len(rest)} bytes before {count} records of {dtype.itemsize} bytes"
                )
            rest = rest[got:]
        self._traffic.read += len(raw)
        return raw.view(dtype)

    def close(self) -> None:
        self._file.close()


def sync(path: Path) -> None:
    """The file's bytes are on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def url_hashes(server_hashes: U64, fingerprints: U64) -> U64:
    """One hash of 8 bytes for a whole URL, the H of paper 000."""
    x = (server_hashes * _SPREAD) ^ fingerprints
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> np.uint64(32))


class Merged(Struct, frozen=True):
    """What became of sorted keys in a repository."""

    known: Mask
    """True where a key was there already."""
    places: npt.NDArray[np.intp]
    """The index of each in the new repository."""


def merge(old: ArrayFile, stored: int, keys: Array, new: ArrayFile) -> Merged:
    """Copy ``stored`` sorted keys from one file to another, with ``keys`` (sorted, each once) in their places."""
    known = np.zeros(len(keys), dtype=np.bool_)
    places = np.arange(len(keys), dtype=np.intp)
    chunk = max(1, _CHUNK_BYTES // keys.dtype.itemsize)
    done = fresh = 0
    for at in range(0, stored, chunk):
        have = old.read(keys.dtype, min(chunk, stored - at))
        last = at + chunk >= stored
        end = len(keys) if last else int(np.searchsorted(keys, have[-1], side="right"))
        part = keys[done:end]
        below = np.searchsorted(have, part)
        found = have[np.minimum(below, len(have) - 1)] == part
        known[done:end] = found
        missing = ~found
        places[done:end] = at + below + fresh + np.cumsum(missing) - missing
        new.write(inserted(have, below[missing] + np.arange(np.count_nonzero(missing)), part[missing]))
        fresh += int(np.count_nonzero(missing))
        done = end
    if not stored:
        new.write(keys)
    return Merged(known, places)


def inserted(have: Array, places: npt.NDArray[np.intp], values: Array) -> Array:
    """``have`` with ``values`` put in, so that they are at ``places`` of the result."""
    if not len(values):
        return have
    result = np.empty(len(have) + len(values), have.dtype)
    fresh = np.zeros(len(result), dtype=np.bool_)
    fresh[places] = True
    result[fresh] = values
    result[~fresh] = have
    return result


def first_of_each(keys: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """(index of the first occurrence of each different key, these keys sorted)."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.ones(len(keys), dtype=np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    return order[starts], ordered[starts]
