"""How many pages of the whole crawl may still be ordered, when other processes order too.

A process knows what its own partitions have used, and of the others what they told last by ``control``. Each tells what it has used in
the transaction that orders it, so that what is ordered beyond the limit is at most what the others have in flight and did not tell yet.
A process that owns all partitions keeps the limit exactly, and tells nothing.
"""

from collections.abc import Mapping

from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.control import Spent

Counters = Mapping[int, Mapping[str, int]]
"""Of the partitions that this process owns."""


class PageQuota:
    """What is used of ``max_pages``."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._told: dict[int, int] = {}
        self._telling: dict[int, int] = {}

    def hear(self, spent: Spent) -> None:
        self._told[spent.partition] = spent.pages

    def spent(self, counters: Counters) -> int:
        """By the whole crawl, as far as it is known here."""
        others = sum([pages for partition, pages in self._told.items() if partition not in counters])
        return others + sum(map(_spent, counters.values()))

    def untold(self, counters: Counters) -> dict[int, int]:
        """What the others do not know of our partitions."""
        if not counters or len(counters) == self._partitions:
            return {}
        ours = {partition: _spent(one) for partition, one in counters.items()}
        return {partition: pages for partition, pages in ours.items() if self._told.get(partition, 0) != pages}

    def tell(self, counters: Counters) -> list[Output]:
        """For the checkpoint that follows."""
        self._telling = self.untold(counters)
        return [
            Output("control", 0, f"spent:{partition}".encode(), encode(Spent(partition=partition, pages=pages)))
            for partition, pages in self._telling.items()
        ]

    def committed(self) -> None:
        self._told.update(self._telling)
        self._telling = {}

    def dropped(self) -> None:
        self._telling = {}


def _spent(counters: Mapping[str, int]) -> int:
    return counters.get("leased", 0) + counters.get("confirmed", 0)
