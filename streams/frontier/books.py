"""The books of one partition: everything that its decisions read and change, and what of it waits for the checkpoint.

Every decision is a function of these books, a batch and the time. ``mutations`` gives what has changed since the last checkpoint;
``committed`` and ``dropped`` end it. Nothing here asks for the time or for chance.
"""

from collections.abc import Iterator, Set
from typing import Final

import msgspec
from msgspec import Struct

from gregor.config import Config
from gregor.state.packed import Mutation, Operation
from gregor.state.store import StateReader
from gregor.url.rules import rules_of
from streams.frontier import queue
from streams.frontier.deltas import pack_operations
from streams.frontier.entry import place_prefix
from streams.frontier.families import DOMAINS, NUMBERS, PARTITION
from streams.frontier.later import Later
from streams.frontier.leases import Leases
from streams.frontier.moves import Moves
from streams.frontier.ordering import rank_by
from streams.frontier.priority import priority_by
from streams.frontier.robots import RobotsCache
from streams.frontier.scope import scope_of
from streams.frontier.server import LiveServer
from streams.frontier.servers import Servers
from streams.frontier.uniqueness.engine import Engine
from streams.frontier.verdicts import Verdicts

_FACTS: Final = b"facts"
LONGEST_STEP_MS: Final = 3600 * 1000
"""More does not pass between two looks at a clock while the partition's is ahead of it: a clock that was far behind was set right."""


class PartitionFacts(Struct, array_like=True):
    """What is durable of a partition as a whole."""

    now_ms: int = 0
    """The partition's clock, which never goes back."""
    orders: int = 0
    """Orders made, which number the leases."""
    later_start: bytes = b""
    """Where URLs that wait for a time are read from."""
    leases_start: bytes = b""
    wait_ms: int = 0
    """How long orders waited for a fetcher lately."""
    told_ms: int = 0
    """What the clock showed when the partition's was last set by it; 0: not known."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PartitionFacts).decode


class Books:
    """Of one partition."""

    def __init__(
        self, partition: int, state: StateReader, config: Config, counters: dict[str, int], paused: Set[str]
    ) -> None:
        self.partition = partition
        self.state = state
        self.config = config
        self.counters = counters
        found = state.get(PARTITION, _FACTS)
        self.facts = PartitionFacts() if found is None else _decode(found)
        self.engine = Engine(state)
        rank = rank_by(config.frontier.order, int(config.frontier.ageing_s * 1000))
        self.servers = Servers(state, rank, config.frontier.orders_per_server, paused, self.facts.now_ms)
        self.leases = Leases(state, self.facts.leases_start)
        self.later = Later(state, self.facts.later_start)
        self.robots = RobotsCache(state, config.robots_agent)
        self.verdicts = Verdicts(partition, config.frontier.verdicts_per_checkpoint, config.config_version)
        self.in_scope = scope_of(config)
        self.canonical_rules = rules_of(config.url)
        self.priority = priority_by(config.frontier)
        self.place_prefix = place_prefix(config.frontier.order)
        self.moves = Moves()
        self._domains: dict[str, int] = {}
        self._committed_counters = dict(counters)
        self._committed_facts = msgspec.structs.replace(self.facts)
        self._batches = 0

    def clock(self, now_ms: int) -> int:
        """The partition's time, which never goes back. Where it is ahead, because a clock once was, it goes on by what passes on the
        clock that it is told."""
        facts = self.facts
        passed = min(max(0, now_ms - facts.told_ms), LONGEST_STEP_MS) if facts.told_ms else 0
        facts.now_ms = max(now_ms, facts.now_ms + passed)
        facts.told_ms = now_ms
        return facts.now_ms

    def clock_again(self, then_ms: int) -> int:
        """The partition's time once more as it was in a crawl that is repeated; what the clock showed then is not known, but that it
        moved with it."""
        gained = max(0, then_ms - self.facts.now_ms)
        self.facts.now_ms += gained
        self.facts.told_ms += gained
        return self.facts.now_ms

    @property
    def ahead_ms(self) -> int:
        """By how much the partition's time is ahead of the clock that it is told."""
        return max(0, self.facts.now_ms - self.facts.told_ms) if self.facts.told_ms else 0

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + by

    def count_server(self) -> None:
        """A server got its first URL. A partition that has URLs from before servers were counted never tells: it would miss some."""
        if "servers" in self.counters or not self.counters.get("admitted", 0):
            self.count("servers")

    def salt(self) -> int:
        """Another number for each batch, the same one after a restart."""
        self._batches += 1
        return self.counters.get("discovered", 0) + self._batches

    def enqueue(self, live: LiveServer, place: bytes, value: bytes, now_ms: int) -> None:
        """A URL comes, or comes back, into its server's queue; the server has to be placed afterwards."""
        if not live.record.queued:
            live.record.since_ms = now_ms
        queue.add(live, place, value)
        self.count("queued")

    def domain_admitted(self, domain: str) -> int:
        count = self._domains.get(domain)
        if count is None:
            stored = self.state.get(DOMAINS, domain.encode())
            count = int.from_bytes(stored, "big") if stored else 0
        return count

    def domain_admits(self, domain: str, urls: int) -> None:
        self._domains[domain] = self.domain_admitted(domain) + urls

    def mutations(self) -> list[Mutation]:
        changes = list(self._changes())
        if changes:
            # For others, who know no clock but their own.
            self.counters["due_later_ms"] = max(0, self.later.earliest_ms - self.ahead_ms)
            self.facts.later_start = self.later.start
            self.facts.leases_start = self.leases.start
            changes += pack_operations(PARTITION.encode(), list(self._partition_operations()))
        return changes

    def _changes(self) -> Iterator[Mutation]:
        self.moves.apply(self.engine)
        yield from self.servers.mutations()
        yield from self.engine.deltas()

    def _partition_operations(self) -> Iterator[Operation]:
        yield NUMBERS[PARTITION], _FACTS, _encode(self.facts)
        for domain, count in self._domains.items():
            yield NUMBERS[DOMAINS], domain.encode(), count.to_bytes(8, "big")

    def committed(self) -> None:
        self.servers.committed()
        self.engine.committed()
        self.leases.committed()
        self.later.committed()
        self._settle()
        self._committed_counters = dict(self.counters)
        self._committed_facts = msgspec.structs.replace(self.facts)

    def dropped(self) -> None:
        """Nothing since the last checkpoint has happened. Nothing is read: the state may not be ours any more. ``recover`` follows
        before anything else if it is."""
        self.counters = dict(self._committed_counters)
        self.facts = msgspec.structs.replace(self._committed_facts)
        self.engine.aborted()
        self.leases.dropped()
        self.later.dropped()
        self._settle()

    def recover(self) -> None:
        """Bring what lives in memory back to the last checkpoint: what was touched is read anew."""
        self.later.look()
        self.servers.recover(self.facts.now_ms)

    def _settle(self) -> None:
        self.verdicts.clear()
        self.moves.clear()
        self._domains = {}
        self._batches = 0
