"""VEUNIQ as Algorithm 1 of paper 000 has it: N repositories in files, taken in turn, stray URLs waiting in a file of their repository.

    cycle i:  L_i and E_i ─┬─ of repository i ──────────► P_i ◄── TMP_i, what waited for this turn
                           └─ of another, j ─► TMP_j       └─► sorted, merged with R_i while that is copied; i becomes i + 1 mod N

A repository is sorted by its records: the texts themselves, as in the paper, or hashes of 8 bytes as DRUM has them, with the texts only
where URLs wait and where new ones are handed on. Beside the records stands one byte each, 1 for URLs that were crawled.

URLs of other repositories get no answer in the cycle that found them: ``check`` says False of them, and ``late`` holds the records that
waited and proved to be new in the last cycle.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from bench.engines.files import Array, ArrayFile, Mask, Traffic, first_of_each, inserted, merge, url_hashes
from bench.engines.interface import U64, Stats, Urls
from bench.engines.text import URL_BYTES, texts_of

Records = Literal["text", "hash"]
_FLAG: Final = np.dtype(np.uint8)
_GRAIN: Final = 4096
"""Repositories are made of so many grains of servers, so that any power of two up to this can be their number."""


class Veuniq:
    """Repositories R_0 to R_(N-1), and whose turn it is."""

    def __init__(self, repositories: int = 16, records: Records = "hash") -> None:
        if repositories < 1 or _GRAIN % repositories:
            raise ValueError(
                f"expected a power of two up to {_GRAIN} for the number of repositories, found {repositories}"
            )
        self.repositories = repositories
        self.turn = 0
        self._records = records
        self._text: np.dtype[Any] = np.dtype(f"S{URL_BYTES}")
        self._record: np.dtype[Any] = self._text if records == "text" else np.dtype(np.uint64)
        self.late: Array = np.empty(0, self._record)

    @property
    def name(self) -> str:
        return "veuniq" if self._records == "hash" else "veuniq-text"

    def open(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._traffic = Traffic()
        self._renames: list[tuple[Path, Path]] = []

    def check(self, batch: Urls) -> Mask:
        return self.cycle(batch, 0)

    def cycle(self, batch: Urls, crawled: int) -> Mask:
        """Algorithm 1 for L_i, the first ``crawled`` URLs of the batch, and E_i, the others. True: of this repository, and new."""
        texts = texts_of(batch)
        records = texts if self._records == "text" else url_hashes(batch.server_hashes, batch.fingerprints)
        repository = self._repository_of(batch.server_hashes)
        own = repository == self.turn
        if not own[:crawled].all():
            raise ValueError(
                f"expected crawled URLs of repository {self.turn} only: the scheduler takes them from there"
            )
        self._spill(repository, records, texts)
        mine = np.flatnonzero(own)
        waited, waited_texts = self._take_waiting()
        together = np.concatenate((waited, records[mine]))
        first, keys = first_of_each(together)
        fetched = records[:crawled]
        new = first[~self._merge(keys, np.sort(fetched))]
        self.late = waited[new[new < len(waited)]]
        fresh = mine[np.sort(new[new >= len(waited)]) - len(waited)]
        if self._records == "hash":
            with ArrayFile(self._folder / "unique", "ab", self._traffic) as unique:
                unique.write(waited_texts[np.sort(new[new < len(waited)])])
                unique.write(texts[fresh])
        mask = np.zeros(len(batch), dtype=np.bool_)
        mask[fresh] = True
        return mask

    def checkpoint(self) -> None:
        """The merged repository replaces the old one, then what waited for it is forgotten."""
        for source, target in self._renames:
            os.replace(source, target)
        self._renames.clear()
        for kind in ("records", "texts"):
            self._path("tmp", self.turn, kind).unlink(missing_ok=True)
        self.turn = (self.turn + 1) % self.repositories

    def waiting(self) -> int:
        """URLs in all TMP files."""
        return sum(self._size("tmp", i) for i in range(self.repositories))

    def stats(self) -> Stats:
        return self._traffic.stats()

    def close(self) -> None:
        pass

    def load(self, batches: Iterable[Urls]) -> None:
        """Records into the files of their repositories, then each file sorted."""
        uncounted = Traffic()
        for batch in batches:
            records = (
                texts_of(batch) if self._records == "text" else url_hashes(batch.server_hashes, batch.fingerprints)
            )
            repository = self._repository_of(batch.server_hashes)
            for i in np.unique(repository).tolist():
                with ArrayFile(self._path("R", i, "records"), "ab", uncounted) as file:
                    file.write(records[repository == i])
        for i in range(self.repositories):
            stored = self._size("R", i)
            if stored:
                ordered = np.sort(np.fromfile(self._path("R", i, "records"), self._record))
                with ArrayFile(self._path("R", i, "records"), "wb", uncounted) as file:
                    file.write(ordered)
                self._path("R", i, "crawled").write_bytes(bytes(stored))

    def _repository_of(self, server_hashes: U64) -> np.ndarray[Any, np.dtype[np.int64]]:
        return (server_hashes & np.uint64(_GRAIN - 1)).astype(np.int64) * self.repositories // _GRAIN

    def _spill(self, repository: Array, records: Array, texts: Array) -> None:
        """TMP in memory to TMP on disk, for all repositories but the current one (lines 5 to 11)."""
        stray = np.flatnonzero(repository != self.turn)
        stray = stray[np.argsort(repository[stray], kind="stable")]
        targets, begins = np.unique(repository[stray], return_index=True)
        for target, part in zip(targets.tolist(), np.split(stray, begins[1:]), strict=True) if len(stray) else ():
            with ArrayFile(self._path("tmp", target, "records"), "ab", self._traffic) as file:
                file.write(records[part])
            if self._records == "hash":
                with ArrayFile(self._path("tmp", target, "texts"), "ab", self._traffic) as file:
                    file.write(texts[part])

    def _take_waiting(self) -> tuple[Array, Array]:
        """Line 12."""
        waiting = self._size("tmp", self.turn)
        if not waiting:
            return np.empty(0, self._record), np.empty(0, self._text)
        with ArrayFile(self._path("tmp", self.turn, "records"), "rb", self._traffic) as file:
            records = file.read(self._record, waiting)
        if self._records == "text":
            return records, records
        with ArrayFile(self._path("tmp", self.turn, "texts"), "rb", self._traffic) as file:
            return records, file.read(self._text, waiting)

    def _merge(self, keys: Array, fetched: Array) -> Mask:
        """Lines 13 and 14; returns which keys were known."""
        stored = self._size("R", self.turn)
        paths = {kind: self._path("R", self.turn, kind) for kind in ("records", "crawled")}
        if not stored:
            for path in paths.values():
                path.write_bytes(b"")
        self._renames = [(path.with_name(f"{path.name}.next"), path) for path in paths.values()]
        with (
            ArrayFile(paths["records"], "rb", self._traffic) as old,
            ArrayFile(self._renames[0][0], "wb", self._traffic) as new,
        ):
            merged = merge(old, stored, keys, new)
        with ArrayFile(paths["crawled"], "rb", self._traffic) as old:
            flags = old.read(_FLAG, stored)
        fresh = merged.places[~merged.known]
        flags = inserted(flags, fresh, np.zeros(len(fresh), _FLAG))
        flags[merged.places[np.searchsorted(keys, fetched)]] = 1
        with ArrayFile(self._renames[1][0], "wb", self._traffic) as new:
            new.write(flags)
        return merged.known

    def _path(self, what: str, repository: int, kind: str) -> Path:
        return self._folder / f"{what}{repository}.{kind}"

    def _size(self, what: str, repository: int) -> int:
        path = self._path(what, repository, "records")
        return path.stat().st_size // self._record.itemsize if path.exists() else 0
