"""A sitemap that says a URL has changed since its last visit makes its next visit due.

A date in the future says nothing: it would be later than every visit, and each reading of the sitemap would make another one due.
"""

from itertools import groupby

import numpy as np
import numpy.typing as npt

from streams.frontier.admit.discovery_batch import DiscoveryBatch
from streams.frontier.partition_state import PartitionState


def by_sitemaps(state: PartitionState, discoveries: DiscoveryBatch, new: npt.NDArray[np.bool_], now_ms: int) -> None:
    for number, found in enumerate(discoveries.records):
        if not any(found.lastmods_ms):
            continue
        first = discoveries.bounds[number]
        said = [
            (int(discoveries.fingerprints[first + at]), lastmod)
            for at, lastmod in enumerate(found.lastmods_ms)
            if 0 < lastmod <= now_ms and not new[first + at]
        ]
        if not said:
            continue
        live = state.servers.open(discoveries.servers[number])
        unique = [next(group) for _, group in groupby(sorted(said, reverse=True), key=lambda one: one[0])]
        visits = state.timers.visits(live.hash, [fingerprint for fingerprint, _ in unique])
        for (fingerprint, lastmod), visit in zip(unique, visits, strict=True):
            if visit is not None and lastmod > visit.visited_ms and visit.due_ms > now_ms + 1:
                state.servers.touch(live)
                if state.timers.bring_forward(live, fingerprint, visit, now_ms + 1):
                    state.count("hastened")
