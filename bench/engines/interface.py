"""What every engine of the uniqueness benchmarks can do."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

U64 = npt.NDArray[np.uint64]


class Urls(Struct, frozen=True):
    """A batch of URLs, as every engine gets it: hashes, or the text that some engines must keep."""

    server_hashes: U64
    fingerprints: U64
    texts: npt.NDArray[np.bytes_] | None = None
    """See ``bench.engines.text``."""

    def __len__(self) -> int:
        return len(self.fingerprints)


class Stats(Struct, frozen=True):
    """Bytes since ``open``, as the engine asked for them and gave them away, whatever a cache or a log made of them."""

    read: int = 0
    written: int = 0


class UniquenessEngine(Protocol):
    """One store of known URLs. ``check`` then ``checkpoint``, in turns; after ``checkpoint`` a kill -9 loses nothing."""

    @property
    def name(self) -> str: ...

    def open(self, folder: Path) -> None: ...

    def check(self, batch: Urls) -> npt.NDArray[np.bool_]:
        """True at the first occurrence of each URL that is new; it is known from now on."""
        ...

    def checkpoint(self) -> None: ...

    def stats(self) -> Stats: ...

    def close(self) -> None: ...


@runtime_checkable
class Settling(Protocol):
    """An engine that goes on working in the background after a checkpoint."""

    def settle(self) -> None:
        """Wait until it rests."""
        ...


@runtime_checkable
class BulkLoading(Protocol):
    """An engine that can be filled faster than by asking; every URL is new, each occurs once, and nothing was stored before."""

    def load(self, batches: Iterable[Urls]) -> None: ...
