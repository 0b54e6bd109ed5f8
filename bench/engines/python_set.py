"""A Python set of hashes: nothing is durable, everything is in memory. What the others are compared with in tests."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.engines.files import url_hashes
from bench.engines.interface import Stats, Urls


class PythonSet:
    """One set."""

    @property
    def name(self) -> str:
        return "set"

    def open(self, folder: Path) -> None:
        self._known: set[int] = set()

    def check(self, batch: Urls) -> npt.NDArray[np.bool_]:
        known = self._known
        mask = np.zeros(len(batch), dtype=np.bool_)
        fresh = []
        for index, key in enumerate(url_hashes(batch.server_hashes, batch.fingerprints).tolist()):
            if key not in known:
                known.add(key)
                fresh.append(index)
        mask[fresh] = True
        return mask

    def checkpoint(self) -> None:
        pass

    def stats(self) -> Stats:
        return Stats()

    def close(self) -> None:
        pass
