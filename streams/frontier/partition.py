"""One partition of the frontier: its books, and the decisions that are made on them."""

from collections.abc import Iterable, Sequence, Set

from gregor.config import Config
from gregor.state.packed import Mutation
from gregor.state.store import StateReader
from gregor.transport.port import Output
from schemas.discovered import Discovered
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder
from streams.frontier.admission import admit
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
        self.books = Books(partition, state, config, counters, paused)

    def discover(self, batch: Sequence[Discovered], now_ms: int) -> int:
        """Admit what is new; gives how many URLs were decided."""
        return admit(self.books, batch, self.books.clock(now_ms))

    def confirm(self, fetched: Fetched, now_ms: int) -> int:
        """Take in the results of an order; gives how many URLs were decided."""
        return confirm(self.books, fetched, self.books.clock(now_ms))

    def release(self, now_ms: int, quota: Quota | None = None) -> list[FetchOrder]:
        """Everything that is due."""
        quota = quota or Quota(NO_LIMIT)
        due = self.next_due_ms(ordering=quota.pages > 0)
        if due is None or due > now_ms:
            return []
        return release(self.books, self.books.clock(now_ms), quota)

    def next_due_ms(self, ordering: bool = True) -> int | None:
        """When ``release`` has something to do; None: not before a result or a discovery. ``ordering``: orders may go out."""
        books = self.books
        dues = [books.leases.next_due_ms, books.later.next_due_ms]
        if ordering and len(books.leases) < books.config.fetch.orders_in_flight:
            if books.servers.any_ready:
                return 0
            dues.append(books.servers.next_due_ms)
        return min((due for due in dues if due is not None), default=None)

    def verdicts(self) -> list[Output]:
        return self.books.verdicts.outputs(self.books.facts.now_ms)

    def repause(self, servers: Iterable[str]) -> None:
        """The pause of these servers began or ended."""
        self.books.servers.repause(servers, self.books.facts.now_ms)

    @property
    def counters(self) -> dict[str, int]:
        return self.books.counters

    def mutations(self) -> list[Mutation]:
        return self.books.mutations()

    def committed(self) -> None:
        self.books.committed()

    def dropped(self) -> None:
        self.books.dropped()
