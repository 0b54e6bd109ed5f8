"""URLs as a crawl finds them: most links stay on the servers that are being crawled, the rest goes anywhere.

The store holds servers of lognormal sizes: a thousand URLs on average, a few of a hundred thousand. A batch has pages of some servers,
drawn with a probability proportional to their size, ``LINKS_PER_SERVER`` links each; a share ``beta`` of all links is stray: to any
URL of the store, all equally likely, which is the worst case for locality. A share ``p`` of both is new.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.engines.interface import U64, Urls

P_NEW: Final = 1 / 9
BETA: Final = 0.25
URLS_PER_SERVER: Final = 1000
LINKS_PER_SERVER: Final = 480
"""Of ten pages with sixty links each, those that stay."""


def _scramble(numbers: U64) -> U64:
    """A bijection of 64-bit numbers that leaves no pattern (the finaliser of splitmix64)."""
    x = numbers + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Web:
    """``stored`` known URLs, and batches of links among them."""

    def __init__(self, stored: int, beta: float = BETA, p_new: float = P_NEW, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)
        self._beta = beta
        self._p_new = p_new
        servers = max(1, stored // URLS_PER_SERVER)
        weights = self._random.lognormal(0.0, 1.5, servers)
        edges = np.floor(np.cumsum(weights) / weights.sum() * stored).astype(np.int64)
        edges[-1] = stored
        self._ends = edges
        self._begins = np.concatenate(([0], edges[:-1]))
        hashes = _scramble(np.arange(servers, dtype=np.uint64) + np.uint64(seed << 32))
        # In the order of repositories, so that filling writes each block once or twice.
        self._hashes = hashes[np.argsort(hashes & np.uint64(0xFFF), kind="stable")]
        self._new = stored
        self.stored = stored

    def fill(self, size: int) -> Iterator[Urls]:
        """Everything that is stored, once: nine tenths server after server, the rest scattered as in a store that has grown."""
        for at in range(0, self.stored, size):
            numbers = np.arange(at, min(at + size, self.stored))
            yield self._urls(numbers[numbers % 100 >= 10])
        for part in range(10):
            numbers = np.arange(part, self.stored, 100)
            for at in range(0, len(numbers), size):
                yield self._urls(numbers[at : at + size])

    def batch(self, size: int) -> Urls:
        """The next links found."""
        random = self._random
        stray = random.random(size) < self._beta
        local = size - np.count_nonzero(stray)
        active = self._server_of(random.integers(0, self.stored, max(1, round(local / LINKS_PER_SERVER))))
        numbers = np.empty(size, np.int64)
        numbers[stray] = random.integers(0, self.stored, size - local)
        server = active[random.integers(0, len(active), local)]
        sizes = np.maximum(self._ends[server] - self._begins[server], 1)
        numbers[~stray] = self._begins[server] + (random.random(local) * sizes).astype(np.int64)
        return self._urls(numbers, random.random(size) < self._p_new)

    def cycle(self, size: int, repository: int, repositories: int) -> Urls:
        """A crawling cycle of VEUNIQ's scheduler: a tenth are pages of one repository just crawled, the rest their links.

        The pages are known. Of the links a share ``beta`` is stray, the others stay within the repository; a share ``p`` is new.
        """
        random = self._random
        hashed = (self._hashes & np.uint64(0xFFF)).astype(np.int64) * repositories >> 12
        first, last = np.searchsorted(hashed, [repository, repository + 1])
        if first == last:
            raise ValueError(
                f"repository {repository} of {repositories} has no server; expected fewer repositories or more URLs"
            )
        begin, end = int(self._begins[first]), max(int(self._ends[last - 1]), int(self._begins[first]) + 1)
        numbers = random.integers(begin, end, size)
        stray = random.random(size) < self._beta
        new = random.random(size) < self._p_new * size / (size - size // 10)
        stray[: size // 10] = new[: size // 10] = False
        numbers[stray] = random.integers(0, self.stored, int(np.count_nonzero(stray)))
        return self._urls(numbers, new)

    def _server_of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        return np.searchsorted(self._ends, numbers, side="right")

    def _urls(self, numbers: npt.NDArray[np.int64], new: npt.NDArray[np.bool_] | None = None) -> Urls:
        """URLs by number; where ``new``, another URL of the same server that was never seen."""
        hashes = self._hashes[np.minimum(self._server_of(numbers), len(self._hashes) - 1)]
        if new is not None:
            count = int(np.count_nonzero(new))
            numbers[new] = np.arange(self._new, self._new + count)
            self._new += count
        return Urls(hashes, _scramble(numbers.astype(np.uint64)))
