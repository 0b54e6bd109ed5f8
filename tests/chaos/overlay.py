"""Changes that are decided but not yet committed: point reads see them, nothing durable does.

After a commit the same changes arrive in the store through the apply function and the overlay is cleared; after an abort it is
cleared and nothing has happened.
"""

from collections.abc import Sequence
from typing import Final

from gregor.runtime.state.packed import Mutation, Operation, pack_delta
from gregor.runtime.state.store import StateReader

DELTA_BYTES: Final = 1024 * 1024
"""A server's changes are cut into several deltas after so many bytes, so that each fits into a record."""


class Overlay:
    """Pending puts and deletes of one partition above its state as of the last checkpoint."""

    def __init__(self, state: StateReader, families: Sequence[str]) -> None:
        self._state = state
        self._numbers = {family: number for number, family in enumerate(families)}
        # A key has one pending change, the last, under whichever server made it: the order of deltas then does not matter.
        self._pending: dict[tuple[int, bytes], tuple[bytes, bytes | None]] = {}
        self.bytes = 0
        """Keys and values that are pending."""

    def get(self, family: str, key: bytes) -> bytes | None:
        pending = self._pending.get((self._numbers[family], key))
        return pending[1] if pending else self._state.get(family, key)

    def put(self, server: bytes, family: str, key: bytes, value: bytes) -> None:
        self._set(server, family, key, value)

    def delete(self, server: bytes, family: str, key: bytes) -> None:
        self._set(server, family, key, None)

    def _set(self, server: bytes, family: str, key: bytes, value: bytes | None) -> None:
        slot = (self._numbers[family], key)
        before = self._pending.get(slot)
        self.bytes += len(value or b"") - len(before[1] or b"") if before else len(key) + len(value or b"")
        self._pending[slot] = (server, value)

    def mutations(self) -> list[Mutation]:
        """Everything pending, packed by server."""
        by_server: dict[bytes, list[Operation]] = {}
        sizes: dict[bytes, int] = {}
        packed: list[Mutation] = []
        for (family, key), (server, value) in self._pending.items():
            by_server.setdefault(server, []).append((family, key, value))
            sizes[server] = sizes.get(server, 0) + len(key) + len(value or b"")
            if sizes[server] >= DELTA_BYTES:
                packed.append(Mutation(server, pack_delta(by_server.pop(server))))
                del sizes[server]
        packed += [Mutation(server, pack_delta(operations)) for server, operations in by_server.items()]
        return packed

    def clear(self) -> None:
        self._pending.clear()
        self.bytes = 0
