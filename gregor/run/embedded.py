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
from gregor.operate.config_history import remember
from gregor.operate.crawl_handle import LOG, is_held
from gregor.operate.mailbox import deliver
from gregor.rules.canonical import rules_of
from gregor.run.allocator import be_frugal
from gregor.run.children import Child
from gregor.run.cpu import cpu_by_thread, cpu_of_children
from gregor.run.placement import placement_of
from gregor.run.progress import Progress, is_done, look, waits_too_long_ms
from gregor.run.seeds import parse_seeds, seed_outputs
from gregor.run.topology import enabled_roles
from gregor.runtime.loops.loop import now_ms
from gregor.runtime.role import Role, Scratch
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded.folder import FolderIdentity, require_made_for
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.port import Session
from schemas.fetched import decode_fetched

_log: Final = logging.getLogger("gregor.run")

LOOK_EVERY_S: Final = 0.2
SETTLE_EVERY_S: Final = 0.02


class StageRun(Protocol):
    """A stage's loop, here or elsewhere."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


class _Elsewhere:
    """A stage in a process of its own."""

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
        self._roles = list(enabled_roles(config).values())
        self._specs = [role.spec for role in self._roles]
        _require_ours(folder)
        self._seeds = parse_seeds(config.crawl.seeds, rules_of(config.url))
        self._scratch = Scratch(self._log / "scratch", home=folder, lasting=True)
        self._children = {
            role.name: [Child(role, config, self._scratch.folder) for _ in range(config.crawl.processes)]
            for role in self._roles
            if role.in_processes
        }
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
        self.waits_until_ms = 0
        """If ``run`` ended because nothing may be asked for before: until when."""
        self.sites_waiting = 0
        """If ``run`` ended because nothing else is left: sites that somebody has to approve."""

    @property
    def shows_sites(self) -> str:
        here = f"--folder {self._folder}"
        return f"`gregor sites --state waiting {here}` shows them, `gregor sites approve SITE {here}` decides"

    def _opened(self) -> EmbeddedTransport:
        state = self._config.state
        memory = SharedMemory(StoreOptions.of(state))
        settings = EmbeddedSettings(
            crawl=self._config.crawl.name,
            partitions=self._config.partitions.partitions,
            placement=self._config.partitions.placement,
            most_unread_records=state.unread_pages,
            most_unread_bytes=state.unread_mb * MIB,
        )
        return EmbeddedTransport.at(self._log, settings, memory, self._specs)

    def run(self, watch: Callable[[Progress], None] = lambda _: None, stop: threading.Event | None = None) -> Progress:
        """Until done, or until ``stop`` is set; raises what a stage raised."""
        self._begun = self._ends_of_fetched()
        remember(self.transport, self._config, now_ms())
        stages = self._stages()
        threads = [
            threading.Thread(target=self._guarded, args=(stage, stages), name=role.name) for role, stage in stages
        ]
        for thread in threads:
            thread.start()
        try:
            for child in self._all_children():
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
            self.cpu_s = self._with_children(used)
            if self._failure is not None:
                raise self._failure

    def _stages(self) -> list[tuple[Role, StageRun]]:
        """Every stage with its role, each to be run by a thread."""
        made: list[tuple[Role, StageRun]] = []
        for role in self._roles:
            open_session = partial(self.transport.open, role.spec)
            if children := self._children.get(role.name):
                made += [(role, _Elsewhere(child, open_session)) for child in children]
            else:
                made.append((role, role.make(self._config, self._placement, open_session(), self._scratch)))
        return made

    def _until_done(
        self, threads: Sequence[threading.Thread], watch: Callable[[Progress], None], stop: threading.Event
    ) -> Progress:
        before = self._look()
        while True:
            stop.wait(LOOK_EVERY_S)
            deliver(self._log, self.transport)
            now = self._look()
            watch(now)
            self.silent = self._silent(now)
            self.waits_until_ms = waits_too_long_ms(before, now, now_ms(), self._config.crawl.max_wait_hours)
            done = is_done(before, now)
            self.sites_waiting = now.sites_waiting if done else 0
            over = done or bool(self.silent) or bool(self.waits_until_ms)
            if over or stop.is_set() or not all(thread.is_alive() for thread in threads):
                return now
            before = now

    def _hear_last_words(self, stages: Sequence[tuple[Role, StageRun]], threads: Sequence[threading.Thread]) -> None:
        """Who reads pages leaves first, with its last counts for the frontier: a crawl that is done has everything passed."""
        self.cpu_s = cpu_by_thread()
        leaving = [index for index, (role, _) in enumerate(stages) if role.leaves_first]
        for index in leaving:
            stages[index][1].stop()
        for index in leaving:
            threads[index].join()
        while any(self._look().lag.values()) and self._failure is None:
            time.sleep(SETTLE_EVERY_S)

    def _silent(self, now: Progress) -> dict[str, str]:
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

    def _look(self) -> Progress:
        return look(self.transport, self._specs, self._config.partitions.partitions)

    def _guarded(self, stage: StageRun, stages: Sequence[tuple[Role, StageRun]]) -> None:
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
        for child in self._all_children():
            child.close()

    def _all_children(self) -> list[Child]:
        return [child for children in self._children.values() for child in children]

    def _with_children(self, used: dict[str, float]) -> dict[str, float]:
        """What the processes used counts as their role's; it is known of all of them together alone."""
        return {
            **used,
            **{name: used.get(name, 0.0) + cpu_of_children() for name, some in self._children.items() if some},
        }


def require_folder(config: Config, folder: Path) -> None:
    """Raises what a crawl in this folder would be refused with, as far as it can be told without opening it."""
    _require_ours(folder)
    log = folder / LOG
    layout = config.partitions
    identity = FolderIdentity(crawl=config.crawl.name, partitions=layout.partitions, placement=layout.placement)
    require_made_for(log, identity)
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
