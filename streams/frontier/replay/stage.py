"""The frontier fed with a crawl's records once more: it decides all that does not depend on the clock, and repeats what does.

What it is given stands in the records' order. Orders come as records of ``schedule`` where these are left; otherwise each is made again
a moment before its results are taken in. Nothing is dispatched by the clock.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final

import numpy as np
from msgspec.structs import replace

from gregor.config import Config
from gregor.runtime.loops.contract import NOTHING, Decode, Received, Work
from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import Assignment
from gregor.url.fingerprint import Placement, fingerprint, server_hash
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRows
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder, decode_order
from streams.frontier.dispatch.dispatch import Quota
from streams.frontier.partition import NO_LIMIT, PartitionFrontier
from streams.frontier.replay.orders import (
    Reached,
    drain_dead,
    drop_refused,
    from_results,
    from_schedule,
    number_of,
    order_again,
)
from streams.frontier.stage import FrontierStage
from streams.frontier.storage.families import SERVERS
from streams.frontier.storage.server import decode_server

SWEPT: Final = 10_000
"""Queued URLs that robots.txt is asked about between two checkpoints."""
LOADED_ANEW: Final = 500_000
"""Results after which a partition is loaded anew: without releases nobody clears the heaps of servers that wait for their turn."""

Sift = Callable[[Discovered], Discovered | None]
"""What of a recorded discovery is still one; None: nothing."""


class RepeatedFrontier(FrontierStage):
    """Of one partition. ``orders_after``: those with a larger number come as records, and a result without its lease is then late or
    repeated; None: none does."""

    def __init__(
        self,
        config: Config,
        placement: Placement,
        *,
        orders_after: int | None,
        sift: Sift = lambda found: found,
        limited: bool = False,
    ) -> None:
        super().__init__(config, placement)
        self.decoders: Mapping[str, Decode] = {
            **self.decoders,
            "schedule": lambda record: decode_order(record.value),
        }
        self._orders_after = orders_after
        self._sift = sift
        self._limited = limited
        """Whether the limit of pages is to be kept: a crawl's own orders kept it already."""
        self._state: StateReader | None = None
        self._discoveries: list[Discovered] = []
        self._placed: list[Received] = []
        """The same, where sites are placed."""
        self._dead: set[str] = set()
        self._results = 0
        self._reached: Reached | None = None
        self._swept = b""
        self.absent = 0
        """URLs of orders that were not in the queue."""

    @property
    def partition(self) -> PartitionFrontier:
        (only,) = self._partitions.values()
        return only

    def assigned(self, partition: int, assignment: Assignment) -> None:
        super().assigned(partition, assignment)
        self._state = assignment.state
        assert assignment.state is not None
        self._dead = {
            name.decode() for name, value in assignment.state.scan(SERVERS) if decode_server(value).dead_until_ms
        }

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        urls = self._hand_over(now_ms)
        for one in received:
            match one.value:
                case Discovered() | SiteRows() if self._by_sites:
                    self._placed.append(one)
                    if isinstance(one.value, SiteRows):
                        urls += self._discover(now_ms) + self._hand_over(now_ms)
                # Another configuration may place servers elsewhere: its records stay where they are.
                case Discovered() as found if not self._limited and self._is_misplaced(one):
                    urls += self._refuse_misplaced(one.record.partition, found)
                case Discovered() as found:
                    self._discoveries.append(found)
                case FetchOrder() as order:
                    urls += self._discover(now_ms) + len(order.urls)
                    self._order(order)
                case Fetched() as fetched:
                    urls += self._confirm(fetched, now_ms)
        return Work((), urls + self._discover(now_ms))

    def _confirm(self, fetched: Fetched, now_ms: int) -> int:
        urls = 0
        if self._is_unrecorded(fetched.lease):
            # Its URLs may have been found by records that came together with the results.
            urls += self._discover(now_ms)
            state = self.partition.state
            if state.leases.get(fetched.lease) is None:
                self.absent += order_again(state, from_results(fetched), state.clock(now_ms), self._room(now_ms))
        urls += self.partition.confirm(fetched, now_ms)
        self._results += 1
        if self.partition.state.servers.open(fetched.server.encode()).record.dead_until_ms > now_ms:
            self._dead.add(fetched.server)
        return urls

    def _is_unrecorded(self, lease: str) -> bool:
        """Whether the order of a lease comes as no record of its own."""
        number = number_of(lease)
        return bool(number) and (self._orders_after is None or number <= self._orders_after)

    def _order(self, order: FetchOrder) -> None:
        state = self.partition.state
        now_ms = state.clock_again(order.created_ms)
        self.absent += order_again(state, from_schedule(order), now_ms, self._room(now_ms))

    def _room(self, now_ms: int) -> Quota:
        return self._quota(now_ms) if self._limited else Quota(NO_LIMIT)

    def _discover(self, now_ms: int) -> int:
        if self._by_sites:
            return self._take_in(now_ms)
        urls = 0
        batch: list[Discovered] = []
        for reports, found in groupby(self._discoveries, lambda one: one.kind == "repetition"):
            if reports and batch:
                # What they repeat may have been found just before.
                urls += self.partition.discover(batch, now_ms)
                batch = []
            batch += [kept for one in found if (kept := self._known_only(self._sift(one))) is not None]
        self._discoveries = []
        return urls + (self.partition.discover(batch, now_ms) if batch else 0)

    def _take_in(self, now_ms: int) -> int:
        """The same where sites are placed. What goes to other partitions stands in their topics."""
        urls = 0
        batch: list[Received] = []
        for one in self._placed:
            if isinstance(one.value, SiteRows):
                batch.append(one)
                continue
            if one.value.kind == "repetition" and batch:
                urls += self.partition.take_in(batch, now_ms)
                batch = []
            kept = self._sift(one.value)
            if kept is not None and self.partition.admits(kept.server):
                kept = self._known_only(kept)
            if kept is one.value:
                batch.append(one)
            elif kept is not None:
                batch.append(Received(replace(one.record, value=encode(kept)), kept))
        self._placed = []
        urls += self.partition.take_in(batch, now_ms) if batch else 0
        self.partition.forwarded()
        return urls

    def _hand_over(self, now_ms: int, effort: int = 0) -> int:
        """Links that waited for their site go to its slot as soon as they can: no later than they did. ``effort``: URLs of blocked sites
        that may leave."""
        if not self._by_sites or not self._partitions:
            return 0
        quota = Quota(0)
        quota.effort = effort
        state = self.partition.state
        self.partition.work_off(state.clock(now_ms), quota)
        self.partition.forwarded()
        return quota.moved

    @property
    def hands_over(self) -> bool:
        """Whether anything follows from rows of sites in the next step."""
        sites = self.partition.state.sites
        return sites is not None and sites.busy

    @property
    def waiting(self) -> int:
        return self.partition.counters.get("waiting", 0)

    def _known_only(self, found: Discovered | None) -> Discovered | None:
        """A report of repetitions discovers nothing: where the frontier knows less than the crawl did, it must not learn by it."""
        if found is None or found.kind != "repetition" or not found.paths:
            return found
        state = self.partition.state
        prints = np.array([fingerprint(found.scheme, path) for path in found.paths], dtype=np.uint64)
        known = state.engine.look_up(np.full(len(prints), server_hash(found.server), dtype=np.uint64), prints)[0]
        if known.all():
            return found
        kept = np.flatnonzero(known).tolist()
        state.count("discovered", len(prints) - len(kept))
        state.count("refused_repetition", len(prints) - len(kept))
        paths = tuple([found.paths[number] for number in kept])
        counts = tuple([found.counts[number] for number in kept]) if found.counts else ()
        return replace(found, paths=paths, counts=counts, flags=(), lastmods_ms=()) if kept else None

    def tick(self, now_ms: int) -> Work:
        """What waits for servers that were given up is given up, and a sweep goes on; nothing else happens by itself."""
        if not self._partitions:
            return NOTHING
        state = self.partition.state
        left = self._hand_over(now_ms, SWEPT)
        if self._dead:
            self._dead = {server for server in self._dead if drain_dead(state, server, state.facts.now_ms)}
        if self._reached is None:
            return Work((), left) if left else NOTHING
        following = drop_refused(state, self._swept, SWEPT, self._reached)
        self._swept, self._reached = (b"", None) if following is None else (following, self._reached)
        return Work((), 1)

    def sweep(self, reached: Reached) -> None:
        """Let robots.txt refuse what is queued, a part at each tick (see `drop_refused`)."""
        self._reached = reached

    @property
    def sweeping(self) -> bool:
        return self._reached is not None

    def next_due_ms(self) -> int | None:
        return None

    def committed(self) -> None:
        super().committed()
        if self._results >= LOADED_ANEW and self._state is not None:
            self._results = 0
            for number, one in self._partitions.items():
                self._partitions[number] = PartitionFrontier(
                    number, self._state, self._config, dict(one.counters), self._paused
                )
