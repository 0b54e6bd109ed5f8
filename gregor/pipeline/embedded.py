"""A whole crawl on the embedded transport, until nothing is left to do: the log and the stages that are part of it in this process, a
thread each, and the work that only reads and writes records in processes beside it."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from gregor.config import Config
from gregor.config.sections import MIB
from gregor.errors import FolderInUse, ForeignState, UsageError, no_access
from gregor.pipeline.allocator import be_frugal
from gregor.pipeline.children import Child
from gregor.pipeline.cpu import cpu_by_thread, cpu_of_children
from gregor.pipeline.extracting import EXTRACTOR, Scratch, placement_of
from gregor.pipeline.operate.access import LOG, is_held
from gregor.pipeline.operate.mailbox import deliver
from gregor.pipeline.operate.remembered import remember
from gregor.pipeline.progress import Look, is_done, look
from gregor.pipeline.seeds import parse_seeds, seed_outputs
from gregor.pipeline.stages import embedded_roles
from gregor.stage.loop import now_ms
from gregor.state.options import SharedMemory, StoreOptions
from gregor.transport.embedded.folder import Identity, require_made_for
from gregor.transport.embedded.settings import EmbeddedSettings
from gregor.transport.embedded.transport import EmbeddedTransport
from gregor.transport.port import Session
from gregor.url.rules import rules_of
from schemas.fetched import decode_fetched

_log: Final = logging.getLogger("gregor.pipeline")

LOOK_EVERY_S: Final = 0.2
SETTLE_EVERY_S: Final = 0.02


class Runs(Protocol):
    """A stage's loop, here or elsewhere."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


class _Elsewhere:
    """An extractor in a process of its own."""

    def __init__(self, child: Child, open_session: Callable[[], Session]) -> None:
        self._child = child
        self._open = open_session

    def run(self) -> None:
        self._child.run(self._open)

    def stop(self) -> None:
        self._child.stop()


class EmbeddedCrawl:
    """Open, run, close; opening a folder again goes on where it stopped. The log is in ``folder/state``."""

    def __init__(self, config: Config, folder: Path) -> None:
        be_frugal()
        self._config = config
        self._folder = folder
        self._log = folder / LOG
        self._placement = placement_of(config)
        self._roles = embedded_roles(config)
        self._specs = [role.spec for role in self._roles.values()]
        _require_ours(folder)
        self._seeds = parse_seeds(config.crawl.seeds, rules_of(config.url))
        self._scratch = Scratch(self._log / "scratch", home=folder, lasting=True)
        self._children = [Child(config, self._scratch.folder) for _ in range(config.crawl.processes)]
        try:
            self.transport = self._opened()
        except BaseException:
            self._end_children()
            raise
        self._failure: BaseException | None = None
        self.cpu_s: dict[str, float] = {}
        """Processor time by stage, once ``run`` has ended."""
        self.silent: dict[str, str] = {}
        """If ``run`` ended because no server of the seeds answered: each of them, and what happened instead."""

    def _opened(self) -> EmbeddedTransport:
        state = self._config.state
        memory = SharedMemory(StoreOptions.of(state))
        settings = EmbeddedSettings(
            crawl=self._config.crawl.name,
            partitions=self._config.partitions.partitions,
            most_unread_records=state.unread_pages,
            most_unread_bytes=state.unread_mb * MIB,
        )
        return EmbeddedTransport.at(self._log, settings, memory, self._specs)

    def run(self, watch: Callable[[Look], None] = lambda _: None, stop: threading.Event | None = None) -> Look:
        """Until done, or until ``stop`` is set; raises what a stage raised."""
        self._begun = self._ends_of_fetched()
        remember(self.transport, self._config, now_ms())
        stages = self._stages()
        threads = [threading.Thread(target=self._guarded, args=(stage, stages), name=name) for name, stage in stages]
        for thread in threads:
            thread.start()
        try:
            for child in self._children:
                # A page that nobody can read yet would only wait.
                child.ready.wait()
            self.transport.append(seed_outputs(self._seeds, self._placement, now_ms()))
            seen = self._until_done(threads, watch, stop or threading.Event())
            if seen.idle:
                self._hear_last_words(stages, threads)
            return seen
        finally:
            for _, stage in stages:
                stage.stop()
            used = {**self.cpu_s, **cpu_by_thread()}
            for thread in threads:
                thread.join()
            self.cpu_s = {**used, "extractor": used.get("extractor", 0.0) + cpu_of_children()}
            if self._failure is not None:
                raise self._failure

    def _stages(self) -> list[tuple[str, Runs]]:
        """Every stage by name, each to be run by a thread."""
        made: list[tuple[str, Runs]] = []
        for name, role in self._roles.items():
            open_session = partial(self.transport.open, role.spec)
            if name == EXTRACTOR.name and self._children:
                made += [(name, _Elsewhere(child, open_session)) for child in self._children]
            else:
                made.append((name, role.make(self._config, self._placement, open_session(), self._scratch)))
        return made

    def _until_done(
        self, threads: Sequence[threading.Thread], watch: Callable[[Look], None], stop: threading.Event
    ) -> Look:
        before = self._look()
        while True:
            stop.wait(LOOK_EVERY_S)
            deliver(self._log, self.transport)
            now = self._look()
            watch(now)
            self.silent = self._silent(now)
            over = is_done(before, now) or bool(self.silent)
            if over or stop.is_set() or not all(thread.is_alive() for thread in threads):
                return now
            before = now

    def _hear_last_words(self, stages: Sequence[tuple[str, Runs]], threads: Sequence[threading.Thread]) -> None:
        """Who reads pages leaves first, with its last counts for the frontier: a crawl that is done has everything passed."""
        self.cpu_s = cpu_by_thread()
        leaving = [index for index, (name, _) in enumerate(stages) if name == EXTRACTOR.name]
        for index in leaving:
            stages[index][1].stop()
        for index in leaving:
            threads[index].join()
        while any(self._look().lag.values()) and self._failure is None:
            time.sleep(SETTLE_EVERY_S)

    def _silent(self, now: Look) -> dict[str, str]:
        """The seeds' servers with what happened to them, if all were asked in this run and none has answered anything: trying again for
        hours is for whoever asks again. Empty: there is hope."""
        counts = now.counters
        if counts.get("confirmed", 0) or counts.get("leased", 0) or any(now.lag.values()):
            return {}
        failed: dict[str, str] = {}
        for partition, end in self._ends_of_fetched().items():
            for record in self.transport.read("fetched", partition, self._begun[partition], end):
                fetched = decode_fetched(record.value)
                if any(one.status for one in fetched.results):
                    return {}
                for one in fetched.results:
                    failed[fetched.server] = f"{one.outcome}, {one.detail}" if one.detail else one.outcome
        return failed if failed.keys() >= {url.server for url in self._seeds} else {}

    def _ends_of_fetched(self) -> dict[int, int]:
        return {partition: end for partition, (_, end) in self.transport.ends("fetched").items()}

    def _look(self) -> Look:
        return look(self.transport, self._specs, self._config.partitions.partitions)

    def _guarded(self, stage: Runs, stages: Sequence[tuple[str, Runs]]) -> None:
        try:
            stage.run()
        except BaseException as error:
            # One stage without the others would only pile up records.
            self._failure = self._failure or error
            for _, other in stages:
                other.stop()

    def close(self) -> None:
        self._end_children()
        self.transport.close()

    def _end_children(self) -> None:
        for child in self._children:
            child.close()


def require_folder(config: Config, folder: Path) -> None:
    """Raises what a crawl in this folder would be refused with, as far as it can be told without opening it."""
    _require_ours(folder)
    log = folder / LOG
    require_made_for(log, Identity(crawl=config.crawl.name, partitions=config.partitions.partitions))
    if is_held(log / "db" / "LOCK"):
        raise FolderInUse(f"{log / 'db'} is held by another process")


def _require_ours(folder: Path) -> None:
    """A folder full of other things is not a crawl's, whatever the user typed."""
    try:
        entries = {entry.name for entry in folder.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise UsageError(f"expected a folder for the crawl, found a file: {folder}") from error
    except OSError as error:
        raise no_access(folder, error) or error from error
    if entries and LOG not in entries:
        raise ForeignState(
            f"expected an empty folder or that of a crawl, found other files in {folder}", remedy="name another"
        )
