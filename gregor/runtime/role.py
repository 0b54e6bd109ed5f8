"""A role is described once: what a stage reads and writes, how it is made, when it takes part, and what the rest needs to know of it.

Each stage's folder has a `role.py` with its `ROLE`; `gregor/run/topology.py` lists them. Nobody asks for a role by its name.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from gregor.config import Config
from gregor.runtime.loops.running import Loop
from gregor.runtime.metrics.events import CounterFigures
from gregor.runtime.metrics.metric_defs import Metric
from gregor.runtime.state.store import StateSpec
from gregor.runtime.transport.port import Session, StageSpec
from gregor.url.fingerprint import Placement


class Scratch(Struct, frozen=True):
    """Where a stage may keep what it can do without."""

    folder: Path
    home: Path
    """The folder of the crawl or worker, which stays."""
    lasting: bool
    """Whether the folder lives and dies with the crawl's own log, so that what it says of the log stays true."""


def always(config: Config) -> bool:
    return True


def nothing_required(config: Config) -> None:
    return


def no_folders(config: Config, home: Path) -> Mapping[str, Path]:
    return {}


class Role(Struct, frozen=True, kw_only=True):
    """A stage that a process can run."""

    spec: StageSpec
    make: Callable[[Config, Placement, Session, Scratch], Loop]
    """The stage in its loop. The function stands in the module of the role, which a process of its own imports and nothing else."""
    enabled: Callable[[Config], bool] = always
    """Whether a crawl of this configuration has it. Left alone: every crawl has."""
    needed: bool = False
    """Whether a crawl that has it comes to no end without it, whether or not one ever ran."""
    require: Callable[[Config], None] = nothing_required
    """Raises what must be mended before it starts."""
    folders: Callable[[Config, Path], Mapping[str, Path]] = no_folders
    """What it keeps outside of its own state, by the name that metrics give to the disk; the path is the worker's folder."""
    metrics: tuple[Metric, ...] = ()
    """What it shows beside what every role does."""
    counters: CounterFigures | None = None
    """How the exact counters of its checkpoints are shown."""
    in_processes: bool = False
    """Whether `gregor crawl` may run it in processes of its own (`crawl.processes`), because it holds nothing but records."""
    leaves_first: bool = False
    """Whether it has last words for the others, so that it is the first to leave when a crawl is done."""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def state(self) -> StateSpec:
        """Of a stage that has one."""
        assert self.spec.state is not None, f"{self.name} has no state"
        return self.spec.state

    @property
    def optional(self) -> bool:
        """Whether some crawls do without it."""
        return self.enabled is not always

    @property
    def module(self) -> str:
        return self.make.__module__
