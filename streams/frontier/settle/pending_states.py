"""URLs that reached the end of their life since the last checkpoint, gathered so that U is changed in few large steps."""

import numpy as np

from streams.frontier.storage.uniqueness.engine import UniquenessEngine
from streams.frontier.storage.uniqueness.facts import UrlState


class PendingStates:
    """Server hashes and fingerprints by the state that their URLs go into."""

    def __init__(self) -> None:
        self._parts: dict[UrlState, tuple[list[int], list[int], list[bytes]]] = {}

    def add(self, state: UrlState, server_hash: int, fingerprints: bytes) -> None:
        """``fingerprints``: eight bytes each, big-endian."""
        hashes, counts, prints = self._parts.setdefault(state, ([], [], []))
        hashes.append(server_hash)
        counts.append(len(fingerprints) // 8)
        prints.append(fingerprints)

    def apply(self, engine: UniquenessEngine) -> None:
        for state, (hashes, counts, prints) in self._parts.items():
            servers = np.repeat(np.array(hashes, dtype=np.uint64), counts)
            engine.move(servers, np.frombuffer(b"".join(prints), ">u8").astype(np.uint64), state)
        self._parts = {}

    def clear(self) -> None:
        self._parts = {}
