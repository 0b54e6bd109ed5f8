"""Names that wait for an address: durable, asked for a bounded number at a time, again after a restart.

Each stands in the state under the time at which it is due; what is due is read in that order. An entry is asked for once its commit
came through, and leaves with the commit that says what became of it. Whether it still matters is looked up when its turn comes: a
site may have been blocked meanwhile. A commit that failed gives back what it had taken.
"""

from collections.abc import Iterator
from struct import Struct as Packing
from typing import Final

from gregor.runtime.state.packed import Operation
from gregor.runtime.state.store import StateReader
from streams.coordinator.families import NUMBERS, PENDING
from streams.coordinator.name_lookup import Answer

_DUE: Final = Packing(">Q")
LATEST: Final = (1 << 63) - 1
LOOK_MS: Final = 10
"""How often answers are looked for while there are questions."""


def key_of(due_ms: int, site: str) -> bytes:
    return _DUE.pack(min(max(due_ms, 0), LATEST)) + site.encode()


def due_of(key: bytes) -> int:
    due: int = _DUE.unpack_from(key)[0]
    return due


class Resolutions:
    """Of the one partition."""

    def __init__(self, state: StateReader, at_once: int) -> None:
        self._state = state
        self._at_once = at_once
        self._asked: set[bytes] = set()
        """Questions that are out."""
        self._added: set[bytes] = set()
        self._removed: set[bytes] = set()
        self._from = b""
        """Nothing before it is due and not asked; behind what was deleted, which would have to be passed."""
        self._next_ms: int | None = 0
        """When the first entry from there on is due; None: there is none."""

    def add(self, due_ms: int, site: str) -> None:
        self._added.add(key_of(due_ms, site))

    def remove(self, key: bytes) -> None:
        self._removed.add(key)

    def due(self, now_ms: int) -> list[tuple[bytes, str]]:
        """Keys and sites to be asked for now."""
        room = self._at_once - len(self._asked)
        if room <= 0 or self._next_ms is None or self._next_ms > now_ms:
            return []
        taken: list[tuple[bytes, str]] = []
        self._next_ms = None
        for key, _ in self._state.scan(PENDING, self._from):
            if len(taken) >= room or due_of(key) > now_ms:
                self._next_ms = due_of(key)
                break
            self._from = key + b"\0"
            if key not in self._asked and key not in self._removed:
                taken.append((key, key[_DUE.size :].decode()))
        self._asked.update(key for key, _ in taken)
        return taken

    def take(self, answer: Answer) -> bool:
        """Whether somebody waits for it; its entry leaves with the next commit."""
        if answer.token not in self._asked:
            return False
        self._asked.discard(answer.token)
        self._removed.add(answer.token)
        return True

    def next_due_ms(self, now_ms: int) -> int | None:
        looking = [now_ms + LOOK_MS] if self._asked else []
        if self._next_ms is not None and len(self._asked) < self._at_once:
            looking.append(self._next_ms)
        return min(looking, default=None)

    def operations(self) -> Iterator[Operation]:
        number = NUMBERS[PENDING]
        for key in sorted(self._removed - self._added):
            yield number, key, None
        for key in sorted(self._added):
            yield number, key, b""

    def committed(self) -> None:
        if self._added:
            self._go_back_to(min(self._added))
        self._settle()

    def dropped(self) -> None:
        """What was taken in the commit that failed is asked for again."""
        if self._removed:
            self._go_back_to(min(self._removed))
        self._settle()

    def _go_back_to(self, key: bytes) -> None:
        self._from = min(self._from, key)
        self._next_ms = min(due_of(key), LATEST if self._next_ms is None else self._next_ms)

    def _settle(self) -> None:
        self._added, self._removed = set(), set()
