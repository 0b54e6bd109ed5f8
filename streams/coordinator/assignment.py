"""Which slot a new site gets. Every way is a function of the facts alone, so that a replay of `sites-found` gives the same table."""

import heapq
from collections.abc import Callable
from typing import Final, Protocol

from streams.coordinator.facts import Facts

STALE: Final = 4
"""Entries of a heap for each slot, most of them outdated, after which it is made anew."""


class Assignment(Protocol):
    """One way to choose."""

    def give(self, count: int) -> list[int]:
        """Slots for the next ``count`` sites, in the order of their ranks; the facts then count them."""
        ...


class RoundRobin:
    """As paper 004 has it: one slot after the other in turn."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def give(self, count: int) -> list[int]:
        first, slots = self._facts.ranks, self._facts.slots
        given = [rank % slots for rank in range(first, first + count)]
        self._facts.gave(given)
        return given


class LeastLoaded:
    """The slot with the fewest URLs: those that its partition told last, and for each site that it was given since as many as sites have
    on average; of several the first. The average is rounded up to a power of two, so that estimates change all at once rarely."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._heap: list[tuple[int, int]] = []
        """Estimates and slots. An entry counts while it says what holds now; each slot has at least one that does."""
        self._made_for: tuple[int, int] = (0, 0)

    def give(self, count: int) -> list[int]:
        facts = self._facts
        given: list[int] = []
        each = 1 << (facts.total_load // max(1, facts.ranks)).bit_length()
        loads, counts, heap = facts.loads, list(facts.given), self._refreshed(each)
        while len(given) < count:
            estimate, slot = heapq.heappop(heap)
            if estimate == loads[slot] + each * counts[slot]:
                given.append(slot)
                counts[slot] += 1
                heapq.heappush(heap, (estimate + each, slot))
        facts.gave(given)
        return given

    def _refreshed(self, each: int) -> list[tuple[int, int]]:
        """With an entry for each slot; those that a partition has told anew since are added."""
        facts = self._facts
        if self._made_for != (each, facts.slots) or len(self._heap) > STALE * facts.slots:
            self._made_for = each, facts.slots
            self._heap = [(facts.loads[slot] + each * facts.given[slot], slot) for slot in range(facts.slots)]
            heapq.heapify(self._heap)
        else:
            for slot in facts.heard:
                if slot < facts.slots:
                    heapq.heappush(self._heap, (facts.loads[slot] + each * facts.given[slot], slot))
        facts.heard.clear()
        return self._heap


ASSIGNMENTS: Final[dict[str, Callable[[Facts], Assignment]]] = {"round-robin": RoundRobin, "least-loaded": LeastLoaded}
"""By the names of `sites.assign`."""
