"""The state of one partition: everything that its decisions read and change, and what of it waits for the checkpoint.

Every decision is a function of this state, a batch and the time. ``mutations`` gives what has changed since the last checkpoint;
``committed`` and ``dropped`` end it. Nothing here asks for the time or for chance.
"""

from collections.abc import Iterator, Set
from typing import Final

import msgspec
from msgspec import Struct

from gregor.config import Config
from gregor.errors import ForeignState
from gregor.rules.canonical import rules_of
from gregor.rules.hosts import servers_in_scope
from gregor.rules.limits import WayLimits
from gregor.runtime.state.packed import Mutation, Operation
from gregor.runtime.state.store import StateReader
from streams.frontier.dispatch.leases import Leases
from streams.frontier.dispatch.robots import RobotsCache
from streams.frontier.dispatch.server_rank import rank_by
from streams.frontier.dispatch.servers import Servers
from streams.frontier.dispatch.url_priority import priority_by
from streams.frontier.settle.pending_states import PendingStates
from streams.frontier.settle.timers import TimerQueue
from streams.frontier.sites.sites import HeldServers, Sites
from streams.frontier.storage import queue
from streams.frontier.storage.deltas import pack_operations
from streams.frontier.storage.families import DOMAINS, NUMBERS, PARTITION, SITES
from streams.frontier.storage.queue_codec import place_prefix
from streams.frontier.storage.server import LiveServer
from streams.frontier.storage.uniqueness.engine import UniquenessEngine
from streams.frontier.storage.uniqueness.keys import REPOSITORIES
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
    timers_start: bytes = b""
    """Where URLs that wait for a time are read from."""
    leases_start: bytes = b""
    wait_ms: int = 0
    """How long orders waited for a fetcher lately."""
    told_ms: int = 0
    """What the clock showed when the partition's was last set by it; 0: not known."""
    repositories: int = 0
    """N when the partition began; 0: it was not noted yet."""

    @property
    def sorted_by(self) -> int:
        """The N by which known URLs are sorted: as long as it was not noted, it was the same one whatever was configured."""
        return self.repositories or REPOSITORIES


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PartitionFacts).decode


def facts_of(state: StateReader) -> PartitionFacts | None:
    """Of a partition's state; None: nothing was committed yet."""
    found = state.get(PARTITION, _FACTS)
    return None if found is None else _decode(found)


def read_facts(state: StateReader) -> PartitionFacts:
    return facts_of(state) or PartitionFacts()


def _facts_for(partition: int, state: StateReader, config: Config) -> PartitionFacts:
    wanted = config.partitions.repositories
    found = facts_of(state)
    if found is not None and found.repositories not in (0, wanted):
        raise ForeignState(
            f"partition {partition} was made with partitions.repositories {found.repositories}, expected {wanted}",
            remedy=f"configure {found.repositories}, or begin another crawl: it says which server is where",
        )
    return found or PartitionFacts(repositories=wanted)


class PartitionState:
    """Of one partition."""

    def __init__(
        self, partition: int, state: StateReader, config: Config, counters: dict[str, int], paused: Set[str]
    ) -> None:
        self.partition = partition
        self.store = state
        self.config = config
        self.counters = counters
        self.facts = _facts_for(partition, state, config)
        self.sites = Sites(partition, state, config) if config.partitions.placement == "sites" else None
        """None: servers are placed by their hash."""
        if self.sites is not None:
            paused = HeldServers(paused, self.sites)
        self.for_server = config.for_server if self.sites is None else self.sites.settings
        """Budget and depth of a server."""
        self.counts_domains = self.sites is not None and self.sites.by_domain
        """Whether URLs of registered domains are counted although they have no budget: somebody may give them one."""
        self.results_partition = -1 if self.sites is None else partition
        """Where the results of orders go; -1: where the server's hash says."""
        self.engine = UniquenessEngine(state, repositories=self.facts.sorted_by)
        rank = rank_by(config.frontier.order, int(config.frontier.ageing_s * 1000))
        self.servers = Servers(state, rank, config.frontier.orders_per_server, paused, self.facts.now_ms)
        self.leases = Leases(state, self.facts.leases_start)
        self.timers = TimerQueue(state, self.facts.timers_start)
        self.robots = RobotsCache(state, config.robots_agent)
        self.verdicts = Verdicts(partition, config.frontier.verdicts_per_checkpoint, config.config_version)
        self.in_scope = servers_in_scope(config)
        self.limits = WayLimits(config, self.for_server)
        self.canonical_rules = rules_of(config.url)
        self.priority = priority_by(config.frontier)
        self.place_prefix = place_prefix(config.frontier.order)
        self.pending_states = PendingStates()
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

    def count_server(self, name: bytes) -> None:
        """A server got its first URL. A partition that has URLs from before servers were counted never tells: it would miss some."""
        if "servers" in self.counters or not self.counters.get("admitted", 0):
            self.count("servers")
        if self.sites is not None:
            self.sites.joined(name)

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
        if self.sites is not None:
            self.sites.queued_again(live.name)

    def domain_admitted(self, domain: str) -> int:
        count = self._domains.get(domain)
        if count is None:
            stored = self.store.get(DOMAINS, domain.encode())
            count = int.from_bytes(stored, "big") if stored else 0
        return count

    def domain_admits(self, domain: str, urls: int) -> None:
        self._domains[domain] = self.domain_admitted(domain) + urls

    def mutations(self) -> list[Mutation]:
        changes = list(self._changes())
        if changes:
            # For others, who know no clock but their own.
            self.counters["due_later_ms"] = max(0, self.timers.earliest_ms - self.ahead_ms)
            self.facts.timers_start = self.timers.start
            self.facts.leases_start = self.leases.start
            changes += pack_operations(PARTITION.encode(), list(self._partition_operations()))
        return changes

    def _changes(self) -> Iterator[Mutation]:
        self.pending_states.apply(self.engine)
        yield from self.servers.mutations()
        yield from self.engine.deltas()
        if self.sites is not None:
            yield from pack_operations(SITES.encode(), self.sites.operations())

    def _partition_operations(self) -> Iterator[Operation]:
        yield NUMBERS[PARTITION], _FACTS, _encode(self.facts)
        for domain, count in self._domains.items():
            yield NUMBERS[DOMAINS], domain.encode(), count.to_bytes(8, "big")

    def committed(self) -> None:
        self.servers.committed()
        self.engine.committed()
        self.leases.committed()
        self.timers.committed()
        if self.sites is not None:
            self.sites.committed()
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
        self.timers.dropped()
        if self.sites is not None:
            self.sites.dropped()
        self._settle()

    def recover(self) -> None:
        """Bring what lives in memory back to the last checkpoint: what was touched is read anew."""
        self.timers.look()
        if self.sites is not None:
            self.sites.load()
        self.servers.recover(self.facts.now_ms)

    def _settle(self) -> None:
        self.verdicts.clear()
        self.pending_states.clear()
        self._domains = {}
        self._batches = 0
