"""Repeated discoveries of a queued URL raise its priority, when the policy counts them: it gets another place in its queue."""

import numpy as np

from streams.frontier import queue
from streams.frontier.arrivals import Arrivals
from streams.frontier.books import Books
from streams.frontier.entry import with_priority
from streams.frontier.uniqueness.engine import Checked
from streams.frontier.uniqueness.facts import DEEPEST, U8, U32, Facts
from streams.frontier.uniqueness.keys import Order, arrange, keys_of, run_starts
from streams.frontier.uniqueness.search import Mask


def check(books: Books, arrivals: Arrivals) -> tuple[Checked, U32 | None]:
    """Which URLs are new, and what was known of all before, if the policy asks for it."""
    if not books.priority.by_count:
        return books.engine.check(arrivals.found(arrivals.depths), books.salt()), None
    known, facts = books.engine.look_up(arrivals.hashes, arrivals.fingerprints)
    raised, repeats = _alike(arrivals, books.priority.raised(arrivals.priorities, arrivals.counts, facts))
    arrivals.raise_priorities(raised)
    # The first discovery fixes the depth; the engine would keep the least.
    depths = np.where(known | repeats, np.uint16(DEEPEST), arrivals.depths)
    return books.engine.check(arrivals.found(depths), books.salt()), facts


def _alike(arrivals: Arrivals, priorities: U8) -> tuple[U8, Mask]:
    """Priorities of which a URL that is in a batch twice has one, the smallest, so that it stands where its facts say; and which rows
    are such repeats."""
    keys, checks = keys_of(arrivals.hashes, arrivals.fingerprints)
    order = arrange(keys, checks)
    first = run_starts(keys[order], checks[order])
    repeats = np.ones(len(order), dtype=np.bool_)
    repeats[order[first]] = False
    alike = np.empty_like(priorities)
    alike[order] = np.repeat(np.minimum.reduceat(priorities[order], first), np.diff(first, append=len(order)))
    return alike, repeats


def promote(books: Books, arrivals: Arrivals, improved: Order, before: U32, now_ms: int) -> None:
    """Move queued URLs whose priority has become smaller; one that is not where its facts say is out in an order."""
    old = Facts(before)
    for index in improved.tolist():
        live = books.servers.open(arrivals.servers[arrivals.owner(index)])
        suffix = arrivals.print_bytes[8 * index : 8 * index + 8]
        depth, priority = int(old.depth[index]), int(arrivals.priorities[index])
        old_place = books.place_prefix(depth, int(old.priority[index])) + suffix
        new_place = books.place_prefix(depth, priority) + suffix
        value = queue.value_at(live, books.state, old_place)
        if value is None or new_place >= old_place:
            continue
        books.servers.touch(live)
        if queue.move(live, books.state, old_place, new_place, with_priority(value, priority)):
            books.count("promoted")
            books.servers.place(live, now_ms)
