"""gregor's own engine with stray URLs waiting in TMP until their repository is worth reading."""

import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.engines.blocks import Blocks
from bench.engines.interface import Urls
from gregor.state.options import StoreOptions
from streams.frontier.uniqueness.keys import REPOSITORIES
from streams.frontier.uniqueness.state import FAMILIES, TMP
from streams.frontier.uniqueness.tmp import StrayOptions, Strays


class BlocksWithTmp(Blocks):
    """A bundle is the hashes of one batch's strays to one repository; the stage would let records wait as they came."""

    def __init__(self, strays: StrayOptions | None = None, options: StoreOptions | None = None) -> None:
        super().__init__(options=options)
        self._stray_options = strays or StrayOptions()
        self.late = 0
        """URLs that were found new after they had waited."""

    @property
    def name(self) -> str:
        return "gregor+tmp"

    def open(self, folder: Path) -> None:
        super().open(folder)
        self._strays = Strays(self._state, self._stray_options, FAMILIES.index(TMP))

    def check(self, batch: Urls) -> npt.NDArray[np.bool_]:
        """A URL that waits is not new yet; ``late`` counts it when it is."""
        now_ms = time.time_ns() // 1_000_000
        repositories = (batch.server_hashes & np.uint64(REPOSITORIES - 1)).astype(np.intp)
        arriving = np.bincount(repositories, minlength=REPOSITORIES)
        due = self._strays.due(arriving, self._engine.blocks_of_repositories(), now_ms)
        taken = np.frombuffer(b"".join(self._strays.take(np.flatnonzero(due).tolist())), np.uint64).reshape(-1, 2)
        ready = due[repositories]
        self._put_by(batch, repositories, np.flatnonzero(~ready), now_ms)
        hashes = np.concatenate((batch.server_hashes[ready], taken[:, 0]))
        prints = np.concatenate((batch.fingerprints[ready], taken[:, 1]))
        checked = super().check(Urls(hashes, prints))
        new = np.zeros(len(batch), dtype=np.bool_)
        new[ready] = checked[: len(checked) - len(taken)]
        self.late += int(np.count_nonzero(checked[len(checked) - len(taken) :]))
        return new

    def _put_by(
        self, batch: Urls, repositories: npt.NDArray[np.intp], which: npt.NDArray[np.intp], now_ms: int
    ) -> None:
        if not len(which):
            return
        which = which[np.argsort(repositories[which])]
        owners = repositories[which]
        pairs = np.stack((batch.server_hashes[which], batch.fingerprints[which]), axis=1)
        begins = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
        ends = np.append(begins[1:], len(owners))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            self._strays.put(int(owners[begin]), end - begin, pairs[begin:end].tobytes(), now_ms)

    def _deltas(self) -> list[bytes]:
        return [*super()._deltas(), *(mutation.delta for mutation in self._strays.deltas())]

    def checkpoint(self) -> None:
        super().checkpoint()
        self._strays.committed()
