"""One partition of the frontier: its books, and the decisions that are made on them."""

from collections.abc import Iterable, Sequence, Set

from gregor.config import Config
from gregor.state.packed import Mutation
from gregor.state.store import StateReader
from gregor.transport.port import Output
from schemas.discovered import Discovered
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder
from streams.frontier.admission import admit, refuse
from streams.frontier.books import Books
from streams.frontier.confirmation import confirm
from streams.frontier.release import Quota, release

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
        self._books = Books(partition, state, config, counters, paused)
        self._dropped = False

    @property
    def books(self) -> Books:
        """As of the last checkpoint and what was decided since."""
        if self._dropped:
            self._books.recover()
            self._dropped = False
        return self._books

    def discover(self, batch: Sequence[Discovered], now_ms: int) -> int:
        """Admit what is new; gives how many URLs were decided."""
        books = self.books
        return admit(books, batch, books.clock(now_ms))

    def refuse(self, found: Discovered, reason: str, detail: str) -> int:
        """Admit nothing of a record; gives how many URLs were decided."""
        return refuse(self.books, found, reason, detail)

    def confirm(self, fetched: Fetched, now_ms: int) -> int:
        """Take in the results of an order; gives how many URLs were decided."""
        books = self.books
        return confirm(books, fetched, books.clock(now_ms))

    def release(self, now_ms: int, quota: Quota | None = None) -> list[FetchOrder]:
        """Everything that is due; the quota says how many URLs that moved."""
        quota = quota or Quota(NO_LIMIT)
        books = self.books
        now_ms = books.clock(now_ms)
        due = self._next_due_ms(ordering=quota.pages > 0)
        return [] if due is None or due > now_ms else release(books, now_ms, quota)

    def next_due_ms(self, ordering: bool = True) -> int | None:
        """When ``release`` has something to do, by the clock that it is told; None: not before a result or a discovery. ``ordering``:
        orders may go out."""
        due = 0 if self._dropped else self._next_due_ms(ordering)
        return None if due is None else max(0, due - self._books.ahead_ms)

    def _next_due_ms(self, ordering: bool) -> int | None:
        """By the partition's own clock."""
        books = self._books
        dues = [books.leases.next_return_ms, books.later.next_due_ms]
        if ordering and len(books.leases) < books.config.fetch.orders_in_flight:
            if books.servers.any_ready:
                return 0
            dues.append(books.servers.next_due_ms)
        return min((due for due in dues if due is not None), default=None)

    @property
    def orders_out(self) -> int:
        """Orders without a result, those of this checkpoint among them."""
        return len(self._books.leases)

    def verdicts(self) -> list[Output]:
        return self._books.verdicts.outputs(self._books.facts.now_ms)

    def repause(self, servers: Iterable[str]) -> None:
        """The pause of these servers began or ended."""
        books = self.books
        books.servers.repause(servers, books.facts.now_ms)

    def keep_leases(self, kept: bool) -> None:
        """Whether no order counts as unanswered for now."""
        self._books.leases.kept = kept

    def hold_known(self, share: int) -> None:
        """As many bytes of known URLs in memory, at the most."""
        self._books.engine.cache_bytes = share

    def hold_rules(self, share: int) -> None:
        """As many bytes of robots.txt parsed, at the most."""
        self._books.robots.most_bytes = share

    @property
    def counters(self) -> dict[str, int]:
        return self._books.counters

    def mutations(self) -> list[Mutation]:
        return self.books.mutations()

    def committed(self) -> None:
        self._books.committed()

    def dropped(self) -> None:
        """Nothing since the last checkpoint has happened. The partition may be lost, its store closed: nothing is read before the
        next decision, which a lost partition never comes to."""
        self._books.dropped()
        self._dropped = True
