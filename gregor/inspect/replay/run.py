"""Replays a crawl's frontier into a new folder, partition by partition, and compares each with what the crawl has."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from gregor.config import Config
from gregor.errors import UsageError
from gregor.inspect.replay.changelog_copy import ChangelogCopy
from gregor.inspect.replay.outcome import Frame, Outcome, PartitionReplay, decisions, outcome
from gregor.inspect.replay.plan import INPUTS, STATE, Limits, ReplayPlan, plan
from gregor.inspect.replay.scope_filter import ScopeFilter
from gregor.inspect.replay.session import ReplaySession
from gregor.inspect.replay.sorted_orders import ORDERS, SortedOrders
from gregor.inspect.replay.steps import ReplayStep, replay_steps
from gregor.run.placement import placement_of
from gregor.run.topology import FRONTIER
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import StateReader, Store
from gregor.runtime.transport.port import LogReader
from schemas.changelog import Checkpoint
from streams.frontier.replay.compare import Seen, compare, everywhere, name_urls, refused_by, sorted_by
from streams.frontier.replay.stage import RepeatedFrontier

_MEMORY: Final = StoreOptions(block_cache_bytes=64 * 1024 * 1024, write_buffer_bytes=64 * 1024 * 1024)
_TELL_EVERY_S: Final = 5.0

Tell = Callable[[str], None]


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """What to replay."""

    crawl: str
    reader: LogReader
    config: Config
    """To decide by."""
    other: bool
    """Whether it is known to be another than the crawl ran under, so that the scope is judged once more and limits are kept."""
    widened: Sequence[str]
    """Servers that seeds were redirected to."""
    partitions: Sequence[int]
    since: Limits
    until: Limits
    show: int


def replay(asked: ReplayRequest, folder: Path, tell: Tell = lambda _: None) -> Outcome:
    """Into ``folder``, which must not be there or be empty."""
    _require_empty(folder)
    memory = SharedMemory(_MEMORY)
    found: list[PartitionReplay] = []
    idle: list[int] = []
    orders = SortedOrders(asked.reader, folder) if asked.config.partitions.placement == "sites" else None
    try:
        for partition in asked.partitions:
            one = _replay_partition(asked, partition, folder, memory, orders, tell)
            if one is None:
                idle.append(partition)
            else:
                found.append(one)
    finally:
        if orders is not None:
            orders.close()
    notes = [f"in {len(idle)} partitions the crawl has decided nothing"] if idle else []
    frame = Frame(crawl=asked.crawl, folder=str(folder), config_version=asked.config.config_version, show=asked.show)
    return outcome(frame, found, notes)


def _replay_partition(
    asked: ReplayRequest, partition: int, folder: Path, memory: SharedMemory, orders: SortedOrders | None, tell: Tell
) -> PartitionReplay | None:
    """None: the crawl has decided nothing in it."""
    changelog = ChangelogCopy(asked.reader, partition, folder / f"changelog-{partition:04d}")
    try:
        # After the changelog: of a crawl that runs, the orders of its last checkpoint are then among them.
        if orders is not None:
            orders.advance()
        ends = {topic: asked.reader.ends(topic) for topic in (*INPUTS, ORDERS)}
        chosen = plan(asked.reader, ends, changelog, partition, asked.since, asked.until, orders)
        if chosen is None:
            return None
        return _Partition(asked, chosen, changelog, folder, memory, orders, tell).replay()
    finally:
        changelog.close()


def _require_empty(folder: Path) -> None:
    try:
        if any(folder.iterdir()):
            raise UsageError(f"expected a new or empty folder, found files in {folder}", remedy="name another")
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise UsageError(f"expected a new folder, found a file: {folder}", remedy="name another") from error


class _Partition:
    """One partition on its way from records to an outcome."""

    def __init__(
        self,
        asked: ReplayRequest,
        chosen: ReplayPlan,
        changelog: ChangelogCopy,
        folder: Path,
        memory: SharedMemory,
        orders: SortedOrders | None,
        tell: Tell,
    ) -> None:
        self._asked = asked
        self._changelog = changelog
        self._plan = chosen
        self._memory = memory
        self._orders = orders
        self._tell = tell
        self._own = folder / f"partition-{chosen.partition:04d}"
        self._theirs = folder / f"crawl-{chosen.partition:04d}"
        self._scope_filter = ScopeFilter(asked.config, asked.widened) if asked.other else None
        self._checkpoints = self._disagreeing = 0
        self._first_disagreeing = ""
        self._versions: set[str] = set()
        self._told = time.monotonic()

    def replay(self) -> PartitionReplay:
        store = Store(self._own, STATE.families, self._memory)
        crawl: Store | None = None
        try:
            begin = self._plan.begin
            if begin is not None:
                self._changelog.restore(store, begin, self._asked.crawl)
            crawl, then = self._crawl_state()
            stage = self._run(store, then)
            if then is not None and sorted_by(then) != stage.partition.state.facts.sorted_by:
                # A crawl from before N was noted: two orders cannot be walked through side by side.
                then = None
            seen = compare(then, store.view(), self._asked.show)
            return self._found(stage, seen, then is not None)
        finally:
            store.close()
            if crawl is not None:
                crawl.close()
            shutil.rmtree(self._theirs, ignore_errors=True)

    def _run(self, store: Store, then: StateReader | None) -> RepeatedFrontier:
        asked, begin = self._asked, self._plan.begin
        stage = RepeatedFrontier(
            asked.config,
            placement_of(asked.config),
            orders_after=self._orders_after(),
            sift=self._scope_filter or (lambda found: found),
            limited=asked.other,
        )
        first = begin.checkpoint if begin else Checkpoint(sequence=0, positions={})
        session = ReplaySession(self._plan.partition, store, STATE, dict(first.counters), first.now_ms)
        loop = StageLoop(stage, session, asked.config.checkpoint, clock=session.clock, stopwatch=session.clock)
        loop.step(0)
        done = 0
        for step in replay_steps(asked.reader, self._changelog, self._plan, self._orders):
            session.give(step)
            loop.step(0)
            # A step of the crawl ends with a checkpoint; what waits for a time is seen after it.
            loop.checkpoint()
            while stage.hands_over and stage.waiting > _waiting_after(step):
                loop.step(0)
                loop.checkpoint()
            done += len(step.records)
            self._check(step, stage)
            self._progress(done)
        self._sweep(stage, loop, then)
        return stage

    def _orders_after(self) -> int | None:
        """A state that the replay goes on from holds its orders itself."""
        steps = self._plan.steps
        if steps is None:
            return None
        return 0 if self._plan.begin is not None else steps.checkpoint.counters.get("orders", 0)

    def _sweep(self, stage: RepeatedFrontier, loop: StageLoop, then: StateReader | None) -> None:
        """What robots.txt refuses of the queued URLs, as far as the crawl has come to them."""
        stage.sweep(everywhere if then is None or self._asked.other else refused_by(then))
        while stage.sweeping:
            loop.step(0)
            loop.checkpoint()

    def _check(self, step: ReplayStep, stage: RepeatedFrontier) -> None:
        """At a checkpoint of the crawl: whether it had decided the same until then. Its counters are those of the whole crawl, so that a
        replay which lacks what came before cannot have the same ones."""
        checkpoint = step.checkpoint
        if checkpoint is None:
            return
        self._versions.add(checkpoint.config_version)
        if self._asked.other or not (self._plan.knows_all and self._plan.results_all):
            return
        if _waiting_after(step) != stage.waiting:
            # When links that waited for their site go to its slot depends on the clock.
            return
        self._checkpoints += 1
        then = decisions(checkpoint.counters, dropped=False)
        now = decisions(stage.partition.counters, dropped=False)
        if then == now:
            return
        self._disagreeing += 1
        if not self._first_disagreeing:
            names = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
            told = ", ".join(f"{name} {then.get(name, 0):,} then, {now.get(name, 0):,} now" for name in names)
            where = f"partition {self._plan.partition}, checkpoint {checkpoint.sequence}"
            self._first_disagreeing = f"{where} is the first that disagrees: {told}"

    def _found(self, stage: RepeatedFrontier, seen: Seen, compared: bool) -> PartitionReplay:
        chosen = self._plan
        now = dict(stage.partition.counters)
        for reason, count in (self._scope_filter.refused if self._scope_filter else {}).items():
            if count:
                now[f"refused_{reason}"] = now.get(f"refused_{reason}", 0) + count
                now["discovered"] = now.get("discovered", 0) + count
        wanted = [key for keys in seen.examples.values() for key in keys]
        return PartitionReplay(
            plan=chosen,
            seen=seen,
            compared=compared,
            then=chosen.counters,
            now=now,
            names=name_urls(
                self._asked.reader,
                chosen.partition,
                chosen.end["discovered"],
                wanted,
                stage.partition.state.facts.sorted_by,
            ),
            checkpoints=self._checkpoints,
            disagreeing=self._disagreeing,
            first_disagreeing=self._first_disagreeing,
            absent=stage.absent,
            versions=frozenset(self._versions or {chosen.config_version}),
        )

    def _crawl_state(self) -> tuple[Store | None, StateReader | None]:
        """The crawl's own state at the end of the replay: from the changelog, or from the folder that is log and state in one."""
        chosen = self._plan
        if not chosen.comparable:
            return None, None
        if chosen.last is None:
            return None, self._asked.reader.state(FRONTIER.spec, chosen.partition)
        store = Store(self._theirs, STATE.families, self._memory)
        self._changelog.restore(store, chosen.last, self._asked.crawl)
        return store, store.view()

    def _progress(self, done: int) -> None:
        if time.monotonic() - self._told >= _TELL_EVERY_S:
            self._told = time.monotonic()
            self._tell(f"partition {self._plan.partition}: {done:,} of about {self._plan.records:,} records")


def _waiting_after(step: ReplayStep) -> int:
    """Links of sites that had not gone to their slots yet; 0 also where it is not known."""
    return step.checkpoint.counters.get("waiting", 0) if step.checkpoint is not None else 0
