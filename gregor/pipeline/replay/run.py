"""Replays a crawl's frontier into a new folder, partition by partition, and compares each with what the crawl has."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from gregor.config import Config
from gregor.errors import UsageError
from gregor.pipeline.extracting import placement_of
from gregor.pipeline.replay.chronicle import Chronicle
from gregor.pipeline.replay.compare import Seen, compare, name_urls
from gregor.pipeline.replay.outcome import Found, Frame, Outcome, decisions, outcome
from gregor.pipeline.replay.plan import INPUTS, ORDERS, STAGE, Limits, Plan, plan
from gregor.pipeline.replay.session import ReplaySession
from gregor.pipeline.replay.sieve import Sieve
from gregor.pipeline.replay.slices import Slice, slices
from gregor.pipeline.stages import ROLES
from gregor.stage.loop import StageLoop
from gregor.state.options import SharedMemory, StoreOptions
from gregor.state.store import StateReader, Store
from gregor.transport.port import LogReader
from schemas.changelog import Checkpoint
from streams.frontier.again import Reached
from streams.frontier.deltas import STATE
from streams.frontier.repeated import RepeatedFrontier
from streams.frontier.uniqueness.engine import Engine
from streams.frontier.uniqueness.facts import Facts, UrlState

_MEMORY: Final = StoreOptions(block_cache_bytes=64 * 1024 * 1024, write_buffer_bytes=64 * 1024 * 1024)
_TELL_EVERY_S: Final = 5.0

Tell = Callable[[str], None]


class Asked(Struct, frozen=True, kw_only=True):
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


def replay(asked: Asked, folder: Path, tell: Tell = lambda _: None) -> Outcome:
    """Into ``folder``, which must not be there or be empty."""
    _require_empty(folder)
    memory = SharedMemory(_MEMORY)
    found: list[Found] = []
    idle: list[int] = []
    for partition in asked.partitions:
        chronicle = Chronicle(asked.reader, partition, folder / f"changelog-{partition:04d}")
        try:
            # After the changelog: of a crawl that runs, the orders of its last checkpoint are then among them.
            ends = {topic: asked.reader.ends(topic) for topic in (*INPUTS, ORDERS)}
            chosen = plan(asked.reader, ends, chronicle, partition, asked.since, asked.until)
            if chosen is None:
                idle.append(partition)
            else:
                found.append(_Partition(asked, chosen, chronicle, folder, memory, tell).replay())
        finally:
            chronicle.close()
    notes = [f"in {len(idle)} partitions the crawl has decided nothing"] if idle else []
    frame = Frame(crawl=asked.crawl, folder=str(folder), config_version=asked.config.config_version, show=asked.show)
    return outcome(frame, found, notes)


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
        self, asked: Asked, chosen: Plan, chronicle: Chronicle, folder: Path, memory: SharedMemory, tell: Tell
    ) -> None:
        self._asked = asked
        self._chronicle = chronicle
        self._plan = chosen
        self._memory = memory
        self._tell = tell
        self._own = folder / f"partition-{chosen.partition:04d}"
        self._theirs = folder / f"crawl-{chosen.partition:04d}"
        self._sieve = Sieve(asked.config, asked.widened) if asked.other else None
        self._checkpoints = self._disagreeing = 0
        self._first_disagreeing = ""
        self._versions: set[str] = set()
        self._told = time.monotonic()

    def replay(self) -> Found:
        store = Store(self._own, STATE.families, self._memory)
        crawl: Store | None = None
        try:
            begin = self._plan.begin
            if begin is not None:
                self._chronicle.restore(store, begin, self._asked.crawl)
            crawl, then = self._crawl_state()
            stage = self._run(store, then)
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
            sift=self._sieve or (lambda found: found),
            limited=asked.other,
        )
        first = begin.checkpoint if begin else Checkpoint(sequence=0, positions={})
        session = ReplaySession(self._plan.partition, store, STATE, dict(first.counters), first.now_ms)
        loop = StageLoop(stage, session, asked.config.checkpoint, clock=session.clock, stopwatch=session.clock)
        loop.step(0)
        done = 0
        for step in slices(asked.reader, self._chronicle, self._plan):
            session.give(step)
            loop.step(0)
            # A step of the crawl ends with a checkpoint; what waits for a time is seen after it.
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
        stage.sweep(_everywhere if then is None or self._asked.other else _refused_by(then))
        while stage.sweeping:
            loop.step(0)
            loop.checkpoint()

    def _check(self, step: Slice, stage: RepeatedFrontier) -> None:
        """At a checkpoint of the crawl: whether it had decided the same until then. Its counters are those of the whole crawl, so that a
        replay which lacks what came before cannot have the same ones."""
        checkpoint = step.checkpoint
        if checkpoint is None:
            return
        self._versions.add(checkpoint.config_version)
        if self._asked.other or not (self._plan.knows_all and self._plan.results_all):
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

    def _found(self, stage: RepeatedFrontier, seen: Seen, compared: bool) -> Found:
        chosen = self._plan
        now = dict(stage.partition.counters)
        for reason, count in (self._sieve.refused if self._sieve else {}).items():
            if count:
                now[f"refused_{reason}"] = now.get(f"refused_{reason}", 0) + count
                now["discovered"] = now.get("discovered", 0) + count
        wanted = [key for keys in seen.examples.values() for key in keys]
        return Found(
            plan=chosen,
            seen=seen,
            compared=compared,
            then=chosen.counters,
            now=now,
            names=name_urls(self._asked.reader, chosen.partition, chosen.end["discovered"], wanted),
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
            return None, self._asked.reader.state(ROLES[STAGE].spec, chosen.partition)
        store = Store(self._theirs, STATE.families, self._memory)
        self._chronicle.restore(store, chosen.last, self._asked.crawl)
        return store, store.view()

    def _progress(self, done: int) -> None:
        if time.monotonic() - self._told >= _TELL_EVERY_S:
            self._told = time.monotonic()
            self._tell(f"partition {self._plan.partition}: {done:,} of about {self._plan.records:,} records")


def _everywhere(server: int, prints: Sequence[int]) -> Sequence[bool]:
    return [True] * len(prints)


def _refused_by(state: StateReader) -> Reached:
    """The URLs that a state has refused."""
    engine = Engine(state)

    def reached(server: int, prints: Sequence[int]) -> Sequence[bool]:
        hashes = np.full(len(prints), server, dtype=np.uint64)
        known, facts = engine.look_up(hashes, np.array(prints, dtype=np.uint64))
        came: list[bool] = (known & (Facts(facts).state == UrlState.REFUSED)).tolist()
        return came

    return reached
