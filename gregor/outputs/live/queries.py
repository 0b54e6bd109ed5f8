"""Answers questions about a running crawl: from the fold at once, from the brokers in a thread, and not more often than needed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Generic, TypeVar

from gregor.config import Config
from gregor.errors import GregorError
from gregor.inspect.explain import ExplainRequest, Story, explain
from gregor.operate.config_history import recall_config
from gregor.operate.control_state import control_state
from gregor.operate.crawl_handle import KafkaHandle
from gregor.operate.status import Status, Watch
from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.live.answers import (
    Overview,
    RefusalLine,
    ServerLines,
    ServerQuestion,
    Span,
    overview_of,
    rates_of,
    refusals_told,
    servers_of,
)
from gregor.outputs.report.summary import TimelineLines
from gregor.runtime.loops.loop import now_ms
from streams.live.app import Folding

Answer = TypeVar("Answer")

STATUS_EVERY_S: Final = 2.0
BEHIND_EVERY_S: Final = 1.0
BEHIND_PATIENCE_S: Final = 5.0
COPY_EVERY_S: Final = 0.5


class _Kept(Generic[Answer]):
    """The last answer, worked out anew when somebody asks and it is older than ``seconds``; by one at a time."""

    def __init__(self, seconds: float, work_out: Callable[[], Awaitable[Answer]]) -> None:
        self._seconds = seconds
        self._work_out = work_out
        self._turn = asyncio.Lock()
        self._known: tuple[float, Answer] | None = None

    async def get(self) -> Answer:
        async with self._turn:
            if self._known is None or time.monotonic() - self._known[0] > self._seconds:
                answer = await self._work_out()
                self._known = (time.monotonic(), answer)
            return self._known[1]


class LiveQueries:
    """One crawl, its fold, and two ways to its brokers: what is asked often must not wait for a long story."""

    def __init__(self, config: Config, folding: Folding, often: KafkaHandle, seldom: KafkaHandle) -> None:
        self._config = config
        self._folding = folding
        self._seldom = seldom
        self._watch = Watch(often, whole=False)
        self._counters: Mapping[str, int] = {}
        self._story = asyncio.Lock()
        self._view = _Kept(COPY_EVERY_S, self._copy)
        self._behind = _Kept(BEHIND_EVERY_S, self._ask_behind)
        self._status = _Kept(STATUS_EVERY_S, self._look)

    @property
    def well(self) -> bool:
        return self._folding.well

    async def summary(self) -> Overview:
        view, counters, behind = await self._view.get(), await self._latest_counters(), await self._behind.get()
        return await asyncio.to_thread(
            overview_of, self._config.crawl.name, view, counters, behind=behind, now_ms=now_ms()
        )

    async def rates(self, span: Span) -> TimelineLines:
        return await asyncio.to_thread(rates_of, await self._view.get(), span, now_ms())

    async def servers(self, asked: ServerQuestion) -> ServerLines:
        return await asyncio.to_thread(servers_of, await self._view.get(), asked)

    async def refusals(self) -> tuple[RefusalLine, ...]:
        return refusals_told(await self._view.get(), await self._latest_counters())

    async def status(self) -> Status:
        """Raises GregorError when no broker answers."""
        return await self._status.get()

    async def explain(self, url: str) -> Story:
        """One story at a time; raises GregorError when no broker answers."""
        async with self._story:
            return await asyncio.to_thread(self._tell, url)

    async def _latest_counters(self) -> Mapping[str, int]:
        """Without a broker, those that were last seen."""
        try:
            return (await self._status.get()).counters
        except GregorError:
            return self._counters

    async def _copy(self) -> CrawlView:
        return self._folding.view.copy()

    async def _ask_behind(self) -> int | None:
        try:
            return await asyncio.wait_for(self._folding.behind(), BEHIND_PATIENCE_S)
        except TimeoutError:
            return None

    async def _look(self) -> Status:
        view = await self._view.get()
        status = await asyncio.to_thread(self._watch.status, now_ms(), 0, view)
        self._counters = status.counters
        return status

    def _tell(self, url: str) -> Story:
        known = control_state(self._seldom.reader)
        recalled = recall_config(known)
        config = recalled or self._config
        archive = Path(self._config.archive.folder) if self._config.archive.folder else None
        asked = ExplainRequest(
            crawl=self._seldom.crawl,
            where=self._seldom.where,
            reader=self._seldom.reader,
            held=known,
            config=config,
            source="as the crawl noted it" if recalled else "that of the views worker, since the crawl noted none",
            archive=archive if archive is not None and archive.is_dir() else None,
        )
        return explain(asked, url, now_ms())
