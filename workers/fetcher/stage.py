"""The fetcher as a stage: orders go to a thread with an event loop of its own, finished ones come back through a queue.

    loop's thread       start ──► inbox ──call_soon_threadsafe──► fetching thread: one task an order
                        finished ◄────────── done ◄───────────────────────────────┘

Both queues are deques, whose appends and pops are atomic. Which orders are wanted is known to the loop's thread alone (``_wanted``): a
result whose order was cancelled meanwhile is dropped there.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final

import uvloop

from gregor.config import Config
from gregor.rules.canonical import rules_of
from gregor.runtime.loops.contract import Decode, Finished, Received, Ticket
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures
from gregor.runtime.transport.port import Output, Record, StageSpec
from gregor.runtime.unforeseen import tell_unforeseen
from gregor.url.fingerprint import Placement
from schemas.codec import Undecodable
from schemas.control import Pause, decode_control
from schemas.schedule import FetchOrder, decode_order
from workers.fetcher.addresses import AddressGuard
from workers.fetcher.backends.backend import BackendOptions, FetchBackend
from workers.fetcher.backends.registry import backend_named
from workers.fetcher.context import FetchContext, Running
from workers.fetcher.fd_limit import allow_open_files
from workers.fetcher.gc_tuning import collect_less_often
from workers.fetcher.metrics import ORDERS_IN_FLIGHT
from workers.fetcher.order import OrderRun, failed
from workers.fetcher.robots import robots_order
from workers.fetcher.unheard import pass_over_late_failures

_log: Final = logging.getLogger("gregor.fetcher")

SPEC: Final = StageSpec(
    name="fetcher", inputs=("schedule",), broadcast=("control",), outputs=("fetched", "pages", "dead-letters")
)
ORDERS_OF_CONNECTION: Final = 4
"""Orders at once for each connection: most of an order's life is waiting for its delay."""
STARTED_TOGETHER: Final = 32
CLOSING_S: Final = 10.0


class FetcherStage:
    """An OrderStage. All methods are called from the loop's thread."""

    def __init__(
        self,
        config: Config,
        placement: Placement,
        worker_id: str = "",
        *,
        port: Callable[[], FetchBackend] | None = None,
    ) -> None:
        self._config = config
        self._placement = placement
        self._worker = worker_id
        self._make_port = port or partial(backend_named(config.fetch.backend), _options(config))
        allow_open_files(config.fetch.connections)
        self._most = config.fetch.connections * ORDERS_OF_CONNECTION
        self._wanted: dict[Ticket, Running] = {}
        self._inbox: deque[Running] = deque()
        self._cancels: deque[Running] = deque()
        self._done: deque[tuple[Running, Sequence[Output]]] = deque()
        self._paused: dict[str, bool] = {}
        self._woken = False
        self._leaving = False
        self._ready = threading.Event()
        self._broken: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ctx: FetchContext | None = None
        self._ending: asyncio.Event | None = None
        self._tasks: dict[Running, asyncio.Task[None]] = {}

    @property
    def spec(self) -> StageSpec:
        return SPEC

    @property
    def decoders(self) -> Mapping[str, Decode]:
        return {"schedule": self._order, "control": _control}

    def _order(self, record: Record) -> FetchOrder:
        order = decode_order(record.value)
        if order.partition >= self._config.partitions.partitions:
            # Its results could be written nowhere.
            raise Undecodable(f"expected a partition of {self._config.partitions.partitions}, found {order.partition}")
        return order

    def on_broadcast(self, received: Sequence[Received]) -> None:
        for one in received:
            if isinstance(one.value, Pause):
                self._paused[one.value.server] = one.value.paused
        self._show_pauses()

    @property
    def in_flight(self) -> int:
        """Orders that were started and neither gathered nor cancelled."""
        return len(self._wanted)

    def room(self) -> int:
        if self._leaving:
            return 0
        if self._ctx is not None and self._ctx.memory.full:
            return 0
        return max(0, self._most - len(self._wanted))

    def start(self, ticket: Ticket, order: Any, redelivered: bool) -> None:
        assert isinstance(order, FetchOrder)
        running = Running(ticket, order, redelivered)
        self._wanted[ticket] = running
        self._inbox.append(running)
        self._wake()

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            running = self._wanted.pop(ticket, None)
            if running is not None:
                # Seen by the fetching thread before its next request, even when the task is cancelled only later.
                running.cancelled = True
                self._cancels.append(running)
        self._wake()

    def finished(self) -> Sequence[Finished]:
        if self._broken is not None:
            raise self._broken
        found = []
        while self._done:
            running, outputs = self._done.popleft()
            assert self._ctx is not None
            self._ctx.memory.release(running.held_bytes)
            if self._wanted.get(running.ticket) is running:
                del self._wanted[running.ticket]
                found.append(Finished(running.ticket, outputs))
        # The stage loop calls this after every poll, with what the poll brought already done: only now is it known to be alive.
        if self._ctx is not None:
            self._ctx.gate.heard()
        return found

    def figures(self) -> Figures:
        asked = self._ctx.tally.figures() if self._ctx is not None else {}
        return {**asked, ORDERS_IN_FLIGHT: {NO_LABELS: self.in_flight}}

    def leave(self) -> None:
        """URLs that were not asked for yet are given back, so that another fetcher asks for them, and for no other again."""
        self._leaving = True
        if self._ctx is not None and self._loop is not None and self._broken is None:
            self._loop.call_soon_threadsafe(self._ctx.leaving.set)

    def close(self) -> None:
        if self._thread is None or self._loop is None:
            return
        if self._thread.is_alive() and self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(CLOSING_S)
        self._thread = None

    def _show_pauses(self) -> None:
        if self._ctx is not None:
            self._ctx.crawl_paused = self._paused.get("", False)
            self._ctx.paused_servers = frozenset(server for server, paused in self._paused.items() if paused and server)

    def _wake(self) -> None:
        if self._thread is None:
            self._open()
        if not self._woken and self._loop is not None:
            self._woken = True
            self._loop.call_soon_threadsafe(self._take)

    def _open(self) -> None:
        collect_less_often()
        self._thread = threading.Thread(target=self._fetch, name=SPEC.name, daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._broken is not None:
            raise self._broken
        self._show_pauses()

    def _fetch(self) -> None:
        """The fetching thread."""
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._main())
        except BaseException as error:
            self._broken = error
            _log.exception("the fetching thread ended")
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(pass_over_late_failures)
        self._ending = asyncio.Event()
        port = self._make_port()
        await port.open()
        self._ctx = FetchContext(self._config, self._placement, self._worker, port)
        self._ready.set()
        try:
            await self._ending.wait()
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await port.close()

    def _take(self) -> None:
        """In the fetching thread: begin what came in, stop what is not wanted."""
        # Before the queues are emptied, so that what is added from now on wakes us again.
        self._woken = False
        for _ in range(min(len(self._inbox), STARTED_TOGETHER)):
            running = self._inbox.popleft()
            if running.cancelled:
                continue
            task = asyncio.create_task(self._run(running))
            self._tasks[running] = task
            task.add_done_callback(partial(self._forget, running))
        while self._cancels:
            self._stop(self._cancels.popleft())
        if self._inbox:
            # After the connections that are being made have had a turn: thousands at once would use up each other's time to connect.
            asyncio.get_running_loop().call_soon(self._take)

    def _stop(self, running: Running) -> None:
        task = self._tasks.get(running)
        if task is not None:
            task.cancel()

    def _forget(self, running: Running, _: asyncio.Task[None]) -> None:
        self._tasks.pop(running, None)

    async def _run(self, running: Running) -> None:
        assert self._ctx is not None
        try:
            with closing(OrderRun(running, self._ctx)) as run:
                outputs = await (robots_order(run) if running.order.kind == "robots" else run.pages())
        except Exception as error:
            tell_unforeseen(_log, "an order failed inside of gregor", running.order.server, error)
            outputs = failed(running, self._ctx, error)
        except asyncio.CancelledError:
            self._ctx.memory.forget(running)
            raise
        self._done.append((running, outputs))


def _options(config: Config) -> BackendOptions:
    guard = AddressGuard(config.fetch.allow_addresses, public=bool(config.crawl.contact))
    return BackendOptions(
        guard=guard, connections=config.fetch.connections, emulate=config.emulate, rules=rules_of(config.url)
    )


def _control(record: Any) -> Any:
    return decode_control(record.value)
