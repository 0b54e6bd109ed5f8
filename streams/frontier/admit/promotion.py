"""Repeated discoveries of a queued URL raise its priority, when the policy counts them: it gets another place in its queue."""

import numpy as np

from streams.frontier.admit.discovery_batch import DiscoveryBatch
from streams.frontier.partition_state import PartitionState
from streams.frontier.storage import queue
from streams.frontier.storage.queue_codec import with_priority
from streams.frontier.storage.uniqueness.engine import Checked
from streams.frontier.storage.uniqueness.facts import DEEPEST, U8, U32, Facts
from streams.frontier.storage.uniqueness.keys import Order, arrange, keys_of, run_starts
from streams.frontier.storage.uniqueness.search import Mask


def check(state: PartitionState, discoveries: DiscoveryBatch) -> tuple[Checked, U32 | None]:
    """Which URLs are new, and what was known of all before, if the policy asks for it."""
    if not state.priority.by_count:
        return state.engine.check(discoveries.found(discoveries.depths), state.salt()), None
    known, facts = state.engine.look_up(discoveries.hashes, discoveries.fingerprints)
    raised, repeats = _alike(discoveries, state.priority.raised(discoveries.priorities, discoveries.counts, facts))
    discoveries.raise_priorities(raised)
    # The first discovery fixes the depth; the engine would keep the least.
    depths = np.where(known | repeats, np.uint16(DEEPEST), discoveries.depths)
    return state.engine.check(discoveries.found(depths), state.salt()), facts


def _alike(discoveries: DiscoveryBatch, priorities: U8) -> tuple[U8, Mask]:
    """Priorities of which a URL that is in a batch twice has one, the smallest, so that it stands where its facts say; and which rows
    are such repeats."""
    keys, checks = keys_of(discoveries.hashes, discoveries.fingerprints)
    order = arrange(keys, checks)
    first = run_starts(keys[order], checks[order])
    repeats = np.ones(len(order), dtype=np.bool_)
    repeats[order[first]] = False
    alike = np.empty_like(priorities)
    alike[order] = np.repeat(np.minimum.reduceat(priorities[order], first), np.diff(first, append=len(order)))
    return alike, repeats


def promote(state: PartitionState, discoveries: DiscoveryBatch, improved: Order, before: U32, now_ms: int) -> None:
    """Move queued URLs whose priority has become smaller; one that is not where its facts say is out in an order."""
    old = Facts(before)
    for index in improved.tolist():
        live = state.servers.open(discoveries.servers[discoveries.owner(index)])
        suffix = discoveries.print_bytes[8 * index : 8 * index + 8]
        depth, priority = int(old.depth[index]), int(discoveries.priorities[index])
        old_place = state.place_prefix(depth, int(old.priority[index])) + suffix
        new_place = state.place_prefix(depth, priority) + suffix
        value = queue.value_at(live, state.store, old_place)
        if value is None or new_place >= old_place:
            continue
        state.servers.touch(live)
        if queue.move(live, state.store, old_place, new_place, with_priority(value, priority)):
            state.count("promoted")
            state.servers.place(live, now_ms)
