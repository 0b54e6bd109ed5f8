"""DRUM (Disk Repository with Update Management): buckets of hashes and of texts on disk, merged with the whole repository at once.

    batch ─► k arrays in memory, by the first bits of the hash
          ─► k KV-buckets (hashes) and k A-buckets (texts) on disk
          ─► bucket after bucket: read it, sort it, merge it into the next stretch of the repository while that is copied
          ─► back into the order of arrival, beside the texts of the A-bucket; texts of new URLs go to a file

One ``check`` is one merge, however small the batch: an answer cannot be had earlier. Hashes are distinct keys of 8 bytes; the texts
are those of the batch. The new repository takes the old one's name at ``checkpoint``, so that a kill in between loses the cycle only.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.engines.files import Array, ArrayFile, Mask, Traffic, first_of_each, merge, sync, url_hashes
from bench.engines.interface import Stats, Urls
from bench.engines.text import texts_of

BUCKETS: Final = 256
_KEY: Final = np.dtype(np.uint64)


class Drum:
    """A central repository of sorted hashes, and buckets. With ``sync`` a checkpoint survives the machine, not only the process."""

    def __init__(self, sync: bool = False) -> None:
        self._sync = sync

    @property
    def name(self) -> str:
        return "drum+sync" if self._sync else "drum"

    def open(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._repository = folder / "repository"
        self._next = folder / "repository.next"
        self._traffic = Traffic()
        self._repository.touch()
        self._counts = self._count_buckets()
        for kind in ("kv", "aux"):
            (folder / kind).mkdir(exist_ok=True)
            for bucket in range(BUCKETS):
                (folder / kind / str(bucket)).touch()

    def check(self, batch: Urls) -> Mask:
        texts = texts_of(batch)
        keys = url_hashes(batch.server_hashes, batch.fingerprints)
        order, sizes = self._fill_buckets(keys, texts)
        mask = np.zeros(len(batch), dtype=np.bool_)
        self._new_counts = self._counts.copy()
        begin = 0
        with (
            ArrayFile(self._repository, "rb", self._traffic) as old,
            ArrayFile(self._next, "wb", self._traffic) as new,
            ArrayFile(self._folder / "unique", "ab", self._traffic) as unique,
        ):
            for bucket, size in enumerate(sizes):
                fresh = self._merge_bucket(bucket, int(size), texts.dtype, (old, new, unique))
                mask[order[begin + fresh]] = True
                begin += int(size)
        return mask

    def checkpoint(self) -> None:
        if self._sync:
            sync(self._next)
        os.replace(self._next, self._repository)
        self._counts = self._new_counts

    def stats(self) -> Stats:
        return self._traffic.stats()

    def close(self) -> None:
        pass

    def load(self, batches: Iterable[Urls]) -> None:
        """The bucket sort without its check: hashes into bucket files, each of them sorted into its stretch of the repository."""
        uncounted = Traffic()
        parts = [self._folder / "kv" / str(bucket) for bucket in range(BUCKETS)]
        for batch in batches:
            keys = np.sort(url_hashes(batch.server_hashes, batch.fingerprints))
            bounds = np.searchsorted(keys, np.arange(1, BUCKETS, dtype=np.uint64) << np.uint64(56))
            for part, stretch in zip(parts, np.split(keys, bounds), strict=True):
                with ArrayFile(part, "ab", uncounted) as file:
                    file.write(stretch)
        with ArrayFile(self._repository, "wb", uncounted) as repository:
            for part in parts:
                repository.write(np.sort(np.fromfile(part, _KEY)))
                part.write_bytes(b"")
        self._counts = self._count_buckets()

    def _fill_buckets(self, keys: Array, texts: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Arrays in memory by bucket, then to disk; returns where each came from, and the size of each bucket."""
        buckets = (keys >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(buckets, kind="stable")
        sizes = np.bincount(buckets, minlength=BUCKETS)
        keys, texts = keys[order], texts[order]
        begin = 0
        for bucket, size in enumerate(sizes.tolist()):
            if not size:
                continue
            for kind, array in (("kv", keys), ("aux", texts)):
                # Not truncated: the space of the last cycle is used again, as in buckets that are allocated beforehand.
                with ArrayFile(self._folder / kind / str(bucket), "r+b", self._traffic) as file:
                    file.write(array[begin : begin + size])
            begin += size
        return order, sizes

    def _merge_bucket(
        self, bucket: int, size: int, text: np.dtype[np.bytes_], files: tuple[ArrayFile, ArrayFile, ArrayFile]
    ) -> npt.NDArray[np.intp]:
        """Indexes within the bucket of the URLs that are new."""
        old, new, unique = files
        keys: Array = np.empty(0, _KEY)
        if size:
            with ArrayFile(self._folder / "kv" / str(bucket), "rb", self._traffic) as file:
                keys = file.read(_KEY, size)
        first, distinct = first_of_each(keys)
        known = merge(old, int(self._counts[bucket]), distinct, new).known
        fresh = np.sort(first[~known])
        self._new_counts[bucket] += len(fresh)
        if size:
            with ArrayFile(self._folder / "aux" / str(bucket), "rb", self._traffic) as file:
                unique.write(file.read(text, size)[fresh])
        return fresh

    def _count_buckets(self) -> npt.NDArray[np.int64]:
        """How many keys of the repository belong to each bucket."""
        size = self._repository.stat().st_size // _KEY.itemsize
        if not size:
            return np.zeros(BUCKETS, np.int64)
        keys = np.memmap(self._repository, dtype=_KEY, mode="r")
        bounds = np.searchsorted(keys, np.arange(1, BUCKETS, dtype=np.uint64) << np.uint64(56))
        return np.diff(np.concatenate(([0], bounds, [size])))
