"""One partition of the frontier: its state, and the decisions that are made on it."""

from collections.abc import Iterable, Sequence, Set

from gregor.config import Config
from gregor.runtime.loops.contract import Received
from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import Output
from schemas.discovered import Discovered
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder
from streams.frontier.admit.admission import admit, refuse
from streams.frontier.dispatch.dispatch import Quota, dispatch
from streams.frontier.partition_state import PartitionState
from streams.frontier.settle.results import confirm
from streams.frontier.sites.gate import take_in
from streams.frontier.sites.sites import Sites
from streams.frontier.sites.telling import tell
from streams.frontier.sites.working_off import work_off

NO_LIMIT = 1 << 62


class PartitionFrontier:
    """Decides for the servers of one partition. Time comes in as an argument."""

    def __init__(
        self,
        partition: int,
        state: StateReader,
        config: Config,
        counters: dict[str, int],
        paused: Set[str] = frozenset(),
    ) -> None:
        self._state = PartitionState(partition, state, config, counters, paused)
        self._dropped = False

    @property
    def state(self) -> PartitionState:
        """As of the last checkpoint and what was decided since."""
        if self._dropped:
            self._state.recover()
            self._dropped = False
        return self._state

    def discover(self, batch: Sequence[Discovered], now_ms: int) -> int:
        """Admit what is new; gives how many URLs were decided."""
        state = self.state
        return admit(state, batch, state.clock(now_ms))

    def take_in(self, batch: Sequence[Received], now_ms: int) -> int:
        """Where sites are placed: admit, forward or keep records of discovered, and heed the rows among them; gives how many URLs and
        rows were decided."""
        state = self.state
        return take_in(state, self._sites, batch, state.clock(now_ms))

    @property
    def _sites(self) -> Sites:
        assert self._state.sites is not None, "servers are placed by their hash"
        return self._state.sites

    def forwarded(self) -> list[Output]:
        """Records that go to other partitions, since this was asked last."""
        sites = self._state.sites
        if sites is None or not sites.outputs:
            return []
        outputs, sites.outputs = sites.outputs, []
        return outputs

    @property
    def tells(self) -> bool:
        """Whether the coordinator hears of anything in the next checkpoint."""
        return self._state.sites is not None and bool(self._state.sites.told)

    def told(self) -> list[Output]:
        """What it hears."""
        return list(tell(self._sites.partition, self._sites.told, self.counters)) if self.tells else []

    def owns(self, server: str) -> bool:
        """Where sites are placed: whether the server's site has its slot here."""
        sites = self.state.sites
        return sites is not None and sites.owns(server)

    def admits(self, server: str) -> bool:
        """Where sites are placed: whether the server's links are admitted here and now."""
        known = self._sites.get(self._sites.site_of(server))
        return known is not None and known.admits

    def refuse(self, found: Discovered, reason: str, detail: str) -> int:
        """Admit nothing of a record; gives how many URLs were decided."""
        return refuse(self.state, found, reason, detail)

    def confirm(self, fetched: Fetched, now_ms: int) -> int:
        """Take in the results of an order; gives how many URLs were decided."""
        state = self.state
        return confirm(state, fetched, state.clock(now_ms))

    def dispatch(self, now_ms: int, quota: Quota | None = None) -> list[FetchOrder]:
        """Everything that is due; the quota says how many URLs that moved."""
        quota = quota or Quota(NO_LIMIT)
        state = self.state
        now_ms = state.clock(now_ms)
        due = self._next_due_ms(ordering=quota.pages > 0)
        if due is None or due > now_ms:
            return []
        self.work_off(now_ms, quota)
        return dispatch(state, now_ms, quota)

    def work_off(self, now_ms: int, quota: Quota) -> None:
        """What follows from rows of sites by and by; ``now_ms`` by the partition's own clock."""
        if self._state.sites is not None:
            work_off(self._state, self._state.sites, now_ms, quota)

    def next_due_ms(self, ordering: bool = True) -> int | None:
        """When ``dispatch`` has something to do, by the clock that it is told; None: not before a result or a discovery. ``ordering``:
        orders may go out."""
        due = 0 if self._dropped else self._next_due_ms(ordering)
        return None if due is None else max(0, due - self._state.ahead_ms)

    def _next_due_ms(self, ordering: bool) -> int | None:
        """By the partition's own clock."""
        state = self._state
        if state.sites is not None and state.sites.busy:
            return 0
        dues = [state.leases.next_return_ms, state.timers.next_due_ms]
        if ordering and len(state.leases) < state.config.fetch.orders_in_flight:
            if state.servers.any_ready:
                return 0
            dues.append(state.servers.next_due_ms)
        return min((due for due in dues if due is not None), default=None)

    @property
    def orders_out(self) -> int:
        """Orders without a result, those of this checkpoint among them."""
        return len(self._state.leases)

    def verdicts(self) -> list[Output]:
        return self._state.verdicts.outputs(self._state.facts.now_ms)

    def repause(self, servers: Iterable[str]) -> None:
        """The pause of these servers began or ended."""
        state = self.state
        state.servers.repause(servers, state.facts.now_ms)

    def keep_leases(self, kept: bool) -> None:
        """Whether no order counts as unanswered for now."""
        self._state.leases.kept = kept

    def hold_known(self, share: int) -> None:
        """As many bytes of known URLs in memory, at the most."""
        self._state.engine.cache_bytes = share

    def hold_rules(self, share: int) -> None:
        """As many bytes of robots.txt parsed, at the most."""
        self._state.robots.most_bytes = share

    @property
    def counters(self) -> dict[str, int]:
        return self._state.counters

    def mutations(self) -> list[Mutation]:
        found = self.state.mutations()
        self._note_next_due()
        return found

    def _note_next_due(self) -> None:
        """For others, who know no clock but their own: before when nothing happens here by itself. Never 0 while anything is to come."""
        state = self._state
        dues = [due for due in (self._next_due_ms(ordering=True), state.timers.earliest_ms or None) if due is not None]
        state.counters["due_next_ms"] = max(state.facts.told_ms, min(dues) - state.ahead_ms) if dues else 0

    def committed(self) -> None:
        self._state.committed()

    def dropped(self) -> None:
        """Nothing since the last checkpoint has happened. The partition may be lost, its store closed: nothing is read before the
        next decision, which a lost partition never comes to."""
        self._state.dropped()
        self._dropped = True
