"""Who is in a group and owns which partitions; an epoch counts every change of that. Nothing here knows of a log or a disk.

                     join                      silent for too long, and another member polls
    outside ─────────────────────► member ─────────────────────────────────────────────────► expelled, which is outside:
       ▲                             │                                                       it may neither commit nor write
       └─────────────────────────────┘ leave                                                 and joins again when it polls

Every arrow adds one to the epoch, and with it all members have to look again at what is theirs.
"""

from collections.abc import Iterable, Mapping
from math import inf


def balance(owners: Mapping[str, frozenset[int]], members: Iterable[str], partitions: int) -> dict[str, frozenset[int]]:
    """Partitions shared among members as evenly as can be, with as few of them changing hands as that allows.

    ``owners`` is what held before; members that are new to it own nothing, and what belonged to others is free.
    """
    ranked = sorted(members, key=lambda member: (-len(owners.get(member, ())), member))
    if not ranked:
        return {}
    least, larger = divmod(partitions, len(ranked))
    kept: dict[str, list[int]] = {}
    for rank, member in enumerate(ranked):
        share = least + (rank < larger)
        kept[member] = sorted(p for p in owners.get(member, ()) if p < partitions)[:share]
    free = sorted(set(range(partitions)).difference(*kept.values()), reverse=True)
    for rank, member in enumerate(ranked):
        while len(kept[member]) < least + (rank < larger):
            kept[member].append(free.pop())
    return {member: frozenset(owned) for member, owned in kept.items()}


class ConsumerGroup:
    """One stage's members. Times are whatever clock the caller has; only differences matter."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._seen: dict[str, float] = {}
        self.epoch = 0
        self.owners: dict[str, frozenset[int]] = {}

    def __contains__(self, member: str) -> bool:
        return member in self._seen

    @property
    def members(self) -> frozenset[str]:
        return frozenset(self._seen)

    def join(self, member: str, now: float) -> None:
        self._seen[member] = now
        self._share()

    def leave(self, member: str) -> None:
        if self._seen.pop(member, None) is not None:
            self._share()

    def waits(self, member: str) -> None:
        """A member that is inside of poll is alive for as long as that takes."""
        self._seen[member] = inf

    def seen(self, member: str, now: float) -> None:
        if member in self._seen:
            self._seen[member] = now

    def expel_silent(self, polling: str, now: float, timeout: float) -> frozenset[str]:
        """Removes members that were not seen for longer than ``timeout``, never the one that is polling."""
        silent = frozenset(m for m, seen in self._seen.items() if now - seen > timeout and m != polling)
        if silent and polling in self._seen:
            for member in silent:
                del self._seen[member]
            self._share()
            return silent
        return frozenset()

    def disturb(self) -> None:
        """A new epoch with the same members: whatever was gathered before it is void."""
        self.epoch += 1

    def _share(self) -> None:
        self.owners = balance(self.owners, self._seen, self._partitions)
        self.epoch += 1
