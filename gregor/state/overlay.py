"""Changes that are decided but not yet committed: point reads see them, nothing durable does.

After a commit the same changes arrive in the store through the apply function and the overlay is cleared; after an abort it is
cleared and nothing has happened.
"""

from collections.abc import Sequence

from gregor.state.packed import Mutation, Operation, pack_delta
from gregor.state.store import StateReader


class Overlay:
    """Pending puts and deletes of one partition above its state as of the last checkpoint."""

    def __init__(self, state: StateReader, families: Sequence[str]) -> None:
        self._state = state
        self._numbers = {family: number for number, family in enumerate(families)}
        self._pending: dict[str, dict[bytes, bytes | None]] = {family: {} for family in families}
        self._by_server: dict[bytes, dict[tuple[int, bytes], bytes | None]] = {}
        self.bytes = 0

    def get(self, family: str, key: bytes) -> bytes | None:
        pending = self._pending[family]
        return pending[key] if key in pending else self._state.get(family, key)

    def put(self, server: bytes, family: str, key: bytes, value: bytes) -> None:
        self._set(server, family, key, value)

    def delete(self, server: bytes, family: str, key: bytes) -> None:
        self._set(server, family, key, None)

    def _set(self, server: bytes, family: str, key: bytes, value: bytes | None) -> None:
        self._pending[family][key] = value
        # A later change of the same key must come later in the log, so that it is moved to the end.
        changes = self._by_server.setdefault(server, {})
        slot = (self._numbers[family], key)
        changes.pop(slot, None)
        changes[slot] = value
        self.bytes += len(key) + (len(value) if value else 0)

    def mutations(self) -> list[Mutation]:
        """Everything pending, one packed delta a server."""
        packed = []
        for server, changes in self._by_server.items():
            operations: list[Operation] = [(family, key, value) for (family, key), value in changes.items()]
            packed.append(Mutation(server, pack_delta(operations)))
        return packed

    def clear(self) -> None:
        for pending in self._pending.values():
            pending.clear()
        self._by_server.clear()
        self.bytes = 0
