"""Which URLs the store may hold: asked before the store is, since most links that are not in memory are new and no read would find them."""

from typing import Final

from xxhash import xxh3_64_intdigest

BITS: Final = 16
PROBES: Final = 6
FIRST_URLS: Final = 1 << 16
"""URLs of the first layer; each further one takes twice as many as the one before."""


class Sketch:
    """A Bloom filter that grows by layers: what it denies was never added, and of what was not it affirms one in a thousand, by layer.
    Two bytes a URL, or four when a layer was just begun."""

    def __init__(self) -> None:
        self._layers: list[bytearray] = []
        self._room = 0
        self.urls = 0
        """How many were added that it did not affirm before."""

    @property
    def bytes(self) -> int:
        return sum(map(len, self._layers))

    def __contains__(self, url: str) -> bool:
        return self._holds(_hash(url))

    def add(self, url: str) -> None:
        hashed = _hash(url)
        if self._holds(hashed):
            return
        if not self._room:
            self._room = FIRST_URLS << len(self._layers)
            self._layers.append(bytearray(self._room * BITS // 8))
        self._room -= 1
        self.urls += 1
        layer = self._layers[-1]
        mask = len(layer) * 8 - 1
        at, step = hashed, hashed >> 32 | 1
        for _ in range(PROBES):
            layer[(at & mask) >> 3] |= 1 << (at & 7)
            at += step

    def _holds(self, hashed: int) -> bool:
        step = hashed >> 32 | 1
        for layer in self._layers:
            mask = len(layer) * 8 - 1
            at = hashed
            for _ in range(PROBES):
                if not layer[(at & mask) >> 3] >> (at & 7) & 1:
                    break
                at += step
            else:
                return True
        return False


def _hash(url: str) -> int:
    return xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"))
