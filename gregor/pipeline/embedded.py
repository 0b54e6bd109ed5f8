"""A whole crawl in one process on the embedded transport: every stage in a thread of its own, until nothing is left to do."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from gregor.config import Config
from gregor.pipeline.progress import Look, is_done, look
from gregor.pipeline.seeds import parse_seeds, seed_outputs
from gregor.pipeline.stages import Scratch, embedded_roles, placement_of
from gregor.stage.loop import now_ms
from gregor.stage.running import Loop
from gregor.state.options import SharedMemory, StoreOptions
from gregor.transport.embedded.settings import EmbeddedSettings
from gregor.transport.embedded.transport import EmbeddedTransport
from gregor.url.rules import rules_of

_log: Final = logging.getLogger("gregor.pipeline")

LOOK_EVERY_S: Final = 0.2


class EmbeddedCrawl:
    """Open, run, close; opening a folder again goes on where it stopped."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self._placement = placement_of(config)
        self._roles = embedded_roles(config)
        self._specs = [role.spec for role in self._roles.values()]
        self._seeds = parse_seeds(config.crawl.seeds, rules_of(config.url))
        memory = SharedMemory(StoreOptions.of(config.state))
        settings = EmbeddedSettings(crawl=config.crawl.name, partitions=config.partitions.partitions)
        self.transport = EmbeddedTransport.at(folder, settings, memory, self._specs)
        self._failure: BaseException | None = None

    def run(self, watch: Callable[[Look], None] = lambda _: None, stop: threading.Event | None = None) -> Look:
        """Until done, or until ``stop`` is set; raises what a stage raised."""
        self.transport.append(seed_outputs(self._seeds, self._placement, now_ms()))
        scratch = Scratch(self._folder / "scratch", home=self._folder, lasting=True)
        loops = [
            role.make(self._config, self._placement, self.transport.open(role.spec), scratch)
            for role in self._roles.values()
        ]
        threads = [
            threading.Thread(target=self._guarded, args=(loop, loops), name=name)
            for name, loop in zip(self._roles, loops, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            return self._until_done(threads, watch, stop or threading.Event())
        finally:
            for loop in loops:
                loop.stop()
            for thread in threads:
                thread.join()
            if self._failure is not None:
                raise self._failure

    def _until_done(
        self, threads: Sequence[threading.Thread], watch: Callable[[Look], None], stop: threading.Event
    ) -> Look:
        before = self._look()
        while True:
            stop.wait(LOOK_EVERY_S)
            now = self._look()
            watch(now)
            if is_done(before, now) or stop.is_set() or not all(thread.is_alive() for thread in threads):
                return now
            before = now

    def _look(self) -> Look:
        return look(self.transport, self._specs, self._config.partitions.partitions)

    def _guarded(self, loop: Loop, all_loops: Sequence[Loop]) -> None:
        try:
            loop.run()
        except BaseException as error:
            # One stage without the others would only pile up records.
            self._failure = self._failure or error
            for other in all_loops:
                other.stop()

    def close(self) -> None:
        self.transport.close()
