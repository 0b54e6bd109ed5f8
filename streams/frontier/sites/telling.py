"""What the coordinator is told of a checkpoint: the sites that this home met for the first time, in few records."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.sites_found import FoundSite, SitesFound

MOST: Final = 500
"""Sites of one record: with the longest pages that they can have been found on it is below what a broker refuses."""


def tell(partition: int, told: Sequence[FoundSite], counters: Mapping[str, int]) -> Iterator[Output]:
    load = counters.get("queued", 0) + counters.get("leased", 0)
    for first in range(0, len(told), MOST):
        note = SitesFound(home=partition, load=load, sites=tuple(told[first : first + MOST]))
        yield Output("sites-found", 0, str(partition).encode(), encode(note))
