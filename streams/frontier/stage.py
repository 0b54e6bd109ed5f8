"""The frontier as a stage: discoveries and results in, orders and verdicts out, the state of each partition behind it."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Final

from gregor.config import Config
from gregor.config.sections import MIB
from gregor.runtime.loops.contract import Decode, Received, Work
from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.port import Assignment, Output, Record, StageSpec, TopicPartition
from gregor.url.fingerprint import Placement
from schemas.codec import encode
from schemas.control import Limits, Pause, Spent, decode_control
from schemas.discovered import Discovered, SiteRows, decode_discovered, decode_discovery
from schemas.fetched import Fetched, decode_fetched
from streams.frontier.dispatch.dispatch import Quota
from streams.frontier.dispatch.page_quota import PageQuota
from streams.frontier.dispatch.robots import PARSED_BYTES
from streams.frontier.dispatch.routing import HostHash, Routing
from streams.frontier.partition import NO_LIMIT, PartitionFrontier
from streams.frontier.storage.deltas import STATE
from streams.frontier.storage.uniqueness.engine import CACHE_BYTES

SPEC: Final = StageSpec(
    name="frontier",
    inputs=("discovered", "fetched"),
    broadcast=("control",),
    outputs=("schedule", "verdicts", "control", "discovered", "sites-found", "dead-letters"),
    changelog="frontier-changelog",
    state=STATE,
)
RULES_BYTES: Final = 8 * PARSED_BYTES
"""Of robots.txt that a process holds parsed, which takes half a gigabyte if every server sends rules of the worst kind."""


def _decode_discovered(record: Record) -> Discovered:
    return decode_discovered(record.value)


def _decode_discovery(record: Record) -> Discovered | SiteRows:
    return decode_discovery(record.value)


class FrontierStage:
    """Hands each record to its partition; dispatches orders by the clock."""

    spec: StageSpec = SPEC

    def __init__(self, config: Config, placement: Placement) -> None:
        self._by_sites = config.partitions.placement == "sites"
        """Whether a coordinator places sites. Otherwise a row of sites is nothing that anybody can read."""
        self.decoders: Mapping[str, Decode] = {
            "discovered": _decode_discovery if self._by_sites else _decode_discovered,
            "fetched": lambda record: decode_fetched(record.value),
            "control": lambda record: decode_control(record.value),
        }
        self._config = config
        self._placement = placement
        self._routing: Routing = HostHash(placement)
        self._partitions: dict[int, PartitionFrontier] = {}
        self._paused: set[str] = set()
        self._paused_in: Counter[int] = Counter()
        """Partition to how many of its servers are paused."""
        self._owners_changed = False
        """Whether that has to be counted anew."""
        self._crawl_paused = False
        self._limits = Limits(max_pages=config.crawl.max_pages)
        self._page_quota = PageQuota(config.partitions.partitions)
        self._ordering = True
        self._turn = 0

    @property
    def partitions(self) -> Mapping[int, PartitionFrontier]:
        return self._partitions

    def assigned(self, partition: int, assignment: Assignment) -> None:
        assert assignment.state is not None
        self._partitions[partition] = PartitionFrontier(
            partition, assignment.state, self._config, dict(assignment.counters), self._paused
        )
        self._owners_changed = self._by_sites
        self._share_memory()

    def revoked(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            self._partitions.pop(partition, None)
        self._share_memory()

    def _share_memory(self) -> None:
        """What the process may hold of known URLs and of robots rules, by parts that change only when its partitions have doubled or
        halved."""
        parts = 1 << max(0, len(self._partitions) - 1).bit_length()
        share = min(CACHE_BYTES, self._config.state.known_mb * MIB // parts)
        for partition in self._partitions.values():
            partition.hold_known(share)
            partition.hold_rules(min(PARSED_BYTES, RULES_BYTES // parts))

    def on_broadcast(self, received: Sequence[Received]) -> None:
        changed: set[str] = set()
        for one in received:
            match one.value:
                case Pause(server="") as pause:
                    self._crawl_paused = pause.paused
                case Pause() as pause:
                    (self._paused.add if pause.paused else self._paused.discard)(pause.server)
                    changed.add(pause.server)
                case Limits() as limits:
                    self._limits = limits
                case Spent() as spent:
                    self._page_quota.hear(spent)
        if changed:
            self._count_paused()
        for partition in self._partitions.values() if changed else ():
            partition.repause(changed)

    def _count_paused(self) -> None:
        if self._by_sites:
            counts = {
                number: sum(map(one.owns, self._paused)) if self._paused else 0
                for number, one in self._partitions.items()
            }
            self._paused_in = Counter(counts)
        else:
            self._paused_in = Counter(map(self._placement.partition, self._paused))
        self._owners_changed = False

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        """Discoveries of a partition are admitted together, results one order after the other."""
        if self._by_sites:
            return self._process_by_sites(received, now_ms)
        discoveries: dict[int, list[Discovered]] = {}
        urls = 0
        for one in received:
            if isinstance(one.value, Discovered):
                if self._is_misplaced(one):
                    urls += self._refuse_misplaced(one.record.partition, one.value)
                else:
                    discoveries.setdefault(one.record.partition, []).append(one.value)
            elif isinstance(one.value, Fetched):
                urls += self._partitions[one.record.partition].confirm(one.value, now_ms)
        for partition, batch in discoveries.items():
            urls += self._partitions[partition].discover(batch, now_ms)
        return Work((), urls)

    def _process_by_sites(self, received: Sequence[Received], now_ms: int) -> Work:
        """The same, where a partition is asked what it knows of each record's site."""
        batches: dict[int, list[Received]] = {}
        urls = 0
        for one in received:
            if isinstance(one.value, Fetched):
                urls += self._partitions[one.record.partition].confirm(one.value, now_ms)
            else:
                batches.setdefault(one.record.partition, []).append(one)
                self._owners_changed = self._owners_changed or isinstance(one.value, SiteRows)
        outputs: list[Output] = []
        tells = False
        for number, batch in batches.items():
            partition = self._partitions[number]
            urls += partition.take_in(batch, now_ms)
            outputs += partition.forwarded()
            tells = tells or partition.tells
        # A site that nobody knows yet waits for the coordinator, who waits for this checkpoint.
        return Work(outputs, urls + tells, urgent=tells)

    def _is_misplaced(self, one: Received) -> bool:
        """Whether a discovery stands where its server's are not, as when a tool has hashed its key. To admit it would make a second
        owner of the server, who orders at the same time and never hears of a result."""
        return self._placement.partition(one.value.server) != one.record.partition

    def _refuse_misplaced(self, partition: int, found: Discovered) -> int:
        place = self._placement.partition(found.server)
        return self._partitions[partition].refuse(
            found, "misplaced", f"found in partition {partition} of discovered, expected in partition {place}"
        )

    def unread(self, inputs: Set[TopicPartition]) -> None:
        """No order counts as unanswered while its results may wait to be read: they would come too late by our own fault."""
        for number, partition in self._partitions.items():
            partition.keep_leases(TopicPartition("fetched", number) in inputs)

    def tick(self, now_ms: int) -> Work:
        quota = self._quota(now_ms)
        orders = []
        forwarded: list[Output] = []
        for partition in self._in_turn():
            orders += partition.dispatch(now_ms, quota)
            forwarded += partition.forwarded()
        changed = self._note_standstill(quota) or bool(self._untold())
        return Work(
            [
                *forwarded,
                *[
                    Output("schedule", self._routing.partition(order), order.server.encode(), encode(order))
                    for order in orders
                ],
            ],
            # Also of what leaves no order behind: nobody but a checkpoint tells that it has happened.
            quota.moved + changed,
            # When these are most of what is out, fetchers have run out of orders or soon will. Links that waited for their slot are
            # the first ones that it gets.
            urgent=bool(forwarded)
            or (bool(orders) and 2 * len(orders) >= sum(one.orders_out for one in self._partitions.values())),
        )

    def _in_turn(self) -> Sequence[PartitionFrontier]:
        """Another one is the first each time: what one uses up of a tick is not left for the next ones."""
        partitions = list(self._partitions.values())
        self._turn = (self._turn + 1) % max(1, len(partitions))
        return partitions[self._turn :] + partitions[: self._turn]

    def _untold(self) -> Mapping[int, int]:
        """Pages that other processes must hear of: a checkpoint is due for them, also when nothing else happens."""
        return self._page_quota.untold(self.counters()) if self._limits.max_pages else {}

    def _note_standstill(self, quota: Quota) -> bool:
        """Whether a limit has just been reached or lifted, or a pause begun or ended: the counters then say so in the next checkpoint."""
        self._ordering = quota.pages > 0
        if self._owners_changed:
            self._count_paused()
        now = {"stopped": not self._ordering and not self._crawl_paused, "paused": self._crawl_paused}
        changed = False
        for number, partition in self._partitions.items():
            for name, holds in {**now, "servers_paused": self._paused_in[number]}.items():
                if partition.counters.get(name, 0) != holds:
                    partition.counters[name] = int(holds)
                    changed = True
        return changed

    def _quota(self, now_ms: int) -> Quota:
        """Pages that may still be ordered."""
        if self._crawl_paused:
            return Quota(0)
        if self._limits.until_ms and now_ms >= self._limits.until_ms:
            return Quota(0)
        if not self._limits.max_pages:
            return Quota(NO_LIMIT)
        return Quota(max(0, self._limits.max_pages - self._page_quota.spent(self.counters())))

    def next_due_ms(self) -> int | None:
        dues = [due for one in self._partitions.values() if (due := one.next_due_ms(self._ordering)) is not None]
        return min(dues, default=None)

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        found = {partition: one.mutations() for partition, one in self._partitions.items()}
        return {partition: mutations for partition, mutations in found.items() if mutations}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {partition: one.counters for partition, one in self._partitions.items()}

    def prepare(self) -> Sequence[Output]:
        outputs = [output for one in self._partitions.values() for output in (*one.verdicts(), *one.told())]
        return outputs + (self._page_quota.tell(self.counters()) if self._limits.max_pages else [])

    def committed(self) -> None:
        self._page_quota.committed()
        for one in self._partitions.values():
            one.committed()

    def dropped(self) -> None:
        self._owners_changed = self._by_sites
        self._page_quota.dropped()
        for one in self._partitions.values():
            one.dropped()

    def close(self) -> None:
        self._partitions.clear()
