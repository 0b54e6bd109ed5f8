"""Brokers and workers on this machine as one thing with a beginning and an end.

    FOLDER/gregor.toml          the configuration of its workers, for every other command: `gregor --config FOLDER/gregor.toml status`
    FOLDER/kafka/               the brokers' data
    FOLDER/workers/ROLE-N/      a worker's state
    FOLDER/logs/ROLE-N.log      what it said; views.log and ui.log: those who show it
    FOLDER/archive/             the WARC files of all archivers
    FOLDER/lock                 locked by the process that runs the cluster, see folder_lock.py
    FOLDER/metrics.json         while it runs: where the workers' metrics are, as Prometheus' file_sd_configs reads it

The same folder goes on later where it stopped: topics, positions and states are all in it.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gregor.config import Config
from gregor.config.text import as_toml
from gregor.errors import EXIT_ENVIRONMENT, BrokerUnreachable, ForeignState, GregorError, TransportError
from gregor.operate.config_history import remember
from gregor.rules.canonical import rules_of
from gregor.run.local.folder_lock import LOCK, folder_lock
from gregor.run.local.member import WorkerProcess, cpu_of
from gregor.run.local.sidecar import Sidecar
from gregor.run.placement import placement_of
from gregor.run.progress import Progress, look
from gregor.run.seeds import parse_seeds, write_seeds
from gregor.run.topology import FRONTIER, ROLES
from gregor.run.worker import kafka_transport
from gregor.runtime.child_process import child_command, child_environment
from gregor.runtime.loops.loop import now_ms
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from infra.kafka.cluster import KafkaCluster
from infra.kafka.errors import KafkaError, PortTaken
from infra.kafka.ports import HOST, held_ports
from infra.ui import kafka_ui
from workers.archiver.role import archive_folder

_log: Final = logging.getLogger("gregor.run")

CONFIG: Final = "gregor.toml"
BROKERS: Final = "kafka"
WORKERS: Final = "workers"
LOGS: Final = "logs"
METRICS: Final = "metrics.json"
STOP_PATIENCE_S: Final = 60.0
ANSWER_PATIENCE_S: Final = 10.0
SEEN_WITHIN_S: Final = 2.0
"""In which `gregor stop` looks again."""
JVM: Final = (
    "-Xms128m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    # A cluster for an hour or so: compiling its hottest code once more costs more processor time than that code then saves.
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
)


class ClusterPlan(Struct, frozen=True, kw_only=True):
    """How much of everything."""

    brokers: int = 1
    workers: Mapping[str, int]
    """Role to processes; a role that is missing has none."""
    views: bool = False
    """Whether a views worker shows the crawl."""
    ui: bool = False
    """Whether a Kafka UI shows the topics."""


class LocalCluster:
    """``start``, then ``tend`` every now and then, ``stop_workers``, ``close``."""

    def __init__(self, config: Config, folder: Path, plan: ClusterPlan) -> None:
        _require_ours(folder)
        self.silent: Final[dict[str, str]] = {}
        """Not told apart here: seeds that do not answer are tried again for as long as the configuration says."""
        self.waits_until_ms = 0
        """Set when nothing may be asked for before, and that is too far away: the cluster then ends."""
        self.sites_waiting = 0
        """Set when nothing else is left: sites that somebody has to approve; the cluster then ends."""
        self.folder: Final = folder
        self._plan = plan
        self._seeds = parse_seeds(config.crawl.seeds, rules_of(config.url))
        self._given = config
        self._kafka = KafkaCluster(plan.brokers, folder / BROKERS, jvm=JVM)
        self._specs = [ROLES[role].spec for role, count in plan.workers.items() if count]
        self.members: list[WorkerProcess] = []
        self.views: Sidecar | None = None
        self.ui: Sidecar | None = None
        self._metrics: dict[str, str] = {}
        """Worker to the address of its metrics."""
        self._closing = ExitStack()
        self.cpu_s: dict[str, float] = {}
        """Seconds on a processor by role, as of ``note_cpu``."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Brokers, topics, seeds, workers; returns when all of them were started. Raises FolderInUse before it touches anything."""
        self._closing.enter_context(folder_lock(self.folder))
        for place in (self.folder / WORKERS, self.folder / LOGS):
            place.mkdir(parents=True, exist_ok=True)
        try:
            self._kafka.start()
            self._closing.callback(self._kafka.stop)
        except KafkaError as error:
            raise GregorError(str(error), exit_code=EXIT_ENVIRONMENT) from error
        self.config = config = self._configured()
        (self.folder / CONFIG).write_text(as_toml(config) + "\n")
        clients = Clients(config.names, config.kafka)
        create(clients, clients.wait_for_broker(), config.layout)
        # Whoever asks a broker that is away should soon come back to start it again.
        asking = replace(config, kafka=replace(config.kafka, give_up_after_s=ANSWER_PATIENCE_S))
        self.transport: KafkaTransport = kafka_transport(asking, Path(config.state.folder))
        self._closing.callback(self.transport.close)
        remember(self.transport, config, now_ms())
        write_seeds(self.transport, self._seeds, placement_of(config), now_ms())
        self._closing.callback((self.folder / METRICS).unlink, missing_ok=True)
        self._closing.callback(self.stop_workers)
        for role, count in self._plan.workers.items():
            for number in range(1, count + 1):
                self.add(role, number)
        if self._plan.views:
            self._show_views()
        if self._plan.ui:
            self._show_topics()

    def add(self, role: str, number: int) -> WorkerProcess:
        """Start one more worker; the same number has the same folder and therefore is the same member of its group."""
        name = f"{role}-{number}"
        command = [*self._gregor(), "worker", role, "--folder", str(self.folder / WORKERS / name)]
        with held_ports(1) as (port,):
            command += ["--metrics-port", str(port)]
            self._metrics[name] = f"{HOST}:{port}"
        self._write_targets()
        member = WorkerProcess(name, role, command, self.folder / LOGS / f"{name}.log", child_environment())
        self.members.append(member)
        return member

    @property
    def shows_sites(self) -> str:
        gregor = f"gregor --config {self.folder / CONFIG} sites"
        return f"while it runs (--keep), `{gregor} --state waiting` shows them, `{gregor} approve SITE` decides"

    def _gregor(self) -> list[str]:
        return child_command("gregor", "--config", str(self.folder / CONFIG))

    def _show_views(self) -> None:
        # Without a folder of its own: it keeps nothing, and explains URLs by a frontier's state.
        at = self.config.views
        host = f"[{at.host}]" if ":" in at.host else at.host
        self.views = Sidecar(
            "views",
            f"http://{host}:{at.port}/",
            [*self._gregor(), "worker", "views"],
            self.folder / LOGS / "views.log",
            child_environment(),
        )

    def _show_topics(self) -> None:
        with held_ports(1) as (port,):
            command = kafka_ui(self.bootstrap, HOST, port)
        self.ui = Sidecar("ui", f"http://{HOST}:{port}/", command, self.folder / LOGS / "ui.log")

    @property
    def sidecars(self) -> list[Sidecar]:
        return [one for one in (self.views, self.ui) if one is not None]

    def _write_targets(self) -> None:
        """By a rename: Prometheus may read at any moment."""
        found = [{"targets": [address], "labels": {"worker": name}} for name, address in self._metrics.items()]
        written = self.folder / f"{METRICS}.new"
        written.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
        written.replace(self.folder / METRICS)

    @property
    def bootstrap(self) -> str:
        return self._kafka.bootstrap

    @property
    def ended(self) -> bool:
        """Whether all workers were told to leave, by somebody else."""
        return bool(self.members) and all(member.ended for member in self.members)

    def note_cpu(self) -> None:
        """Processor time so far by role, and of the brokers; it cannot be told of processes that have ended."""
        used = dict.fromkeys(self._plan.workers, 0.0)
        for member in self.members:
            used[member.role] += member.cpu_s
        used.update({one.member.role: one.member.cpu_s for one in self.sidecars})
        used["broker"] = sum(cpu_of(self._kafka.pid(number)) for number in range(self._plan.brokers))
        self.cpu_s = used

    @property
    def broker_pids(self) -> list[int]:
        return [self._kafka.pid(number) for number in range(self._plan.brokers)]

    def kill_broker(self, number: int) -> None:
        """kill -9; ``tend`` starts it again."""
        self._kafka.kill(number)

    def tend(self) -> None:
        """Start again whatever died, brokers first."""
        ended = [number for number in range(self._plan.brokers) if not self._kafka.alive(number)]
        for number in ended:
            _log.warning("broker %d ended and is started again", number)
        try:
            self._kafka.restart(*ended)
        except KafkaError as error:
            raise GregorError(str(error), exit_code=EXIT_ENVIRONMENT) from error
        for member in self.members:
            member.tend()
        for sidecar in self.sidecars:
            sidecar.tend()

    def look(self) -> Progress | None:
        """None: a broker did not answer; ``tend`` sees to it."""
        try:
            return look(self.transport, self._specs, self.config.partitions.partitions)
        except (TransportError, BrokerUnreachable) as error:
            _log.warning("cannot look at the crawl at present: %s", error)
            return None

    def stop_workers(self) -> None:
        """Every worker finishes its checkpoint and leaves; one that does not within a minute is killed, which loses nothing."""
        _stop([*self.members, *(one.member for one in self.sidecars)])

    def finish(self) -> None:
        """The same when the crawl is done: who has last words leaves first, so that frontiers still take in what is reported."""
        _stop([member for member in self.members if ROLES[member.role].leaves_first])
        give_up = time.monotonic() + STOP_PATIENCE_S
        while time.monotonic() < give_up and ((now := self.look()) is None or now.lag.get(FRONTIER.name, 0)):
            self.tend()
        self.stop_workers()

    def let_go(self) -> None:
        """After a `gregor stop` from elsewhere: the brokers stay until it has seen that all workers left. A member keeps its place in its
        group for the session time-out."""
        give_up = time.monotonic() + self.config.kafka.session_timeout_s + SEEN_WITHIN_S
        try:
            while time.monotonic() < give_up and any(self.transport.members(spec.name) for spec in self._specs):
                time.sleep(0.5)
        except (TransportError, BrokerUnreachable):
            return
        time.sleep(SEEN_WITHIN_S)

    def close(self) -> None:
        """End everything that still runs."""
        self._closing.close()

    def _configured(self) -> Config:
        """As given, but for what belongs to this cluster."""
        given = self._given
        folder = self.folder.resolve()
        return replace(
            given,
            kafka=replace(given.kafka, bootstrap=self.bootstrap, replication=self._plan.brokers, security={}),
            archive=replace(given.archive, folder=str(archive_folder(given, folder).resolve())),
            state=replace(given.state, folder=str(folder / WORKERS / f"{FRONTIER.name}-1")),
            views=replace(given.views, port=_free_port(given.views.port)),
        )


def _free_port(wanted: int) -> int:
    """The wanted one, or another when it is taken, as it is by a second cluster on this machine."""
    try:
        with held_ports(0, (wanted,) if wanted else ()) as ports:
            if ports:
                return ports[0]
    except PortTaken:
        _log.info("port %d is taken: the views have another", wanted)
    with held_ports(1) as (port,):
        return port


def _stop(members: Sequence[WorkerProcess]) -> None:
    for member in members:
        member.ask_to_stop()
    give_up = time.monotonic() + STOP_PATIENCE_S
    for member in members:
        if not member.wait(give_up - time.monotonic()):
            _log.warning("%s did not end by itself and is killed", member.name)
            member.kill()


def _require_ours(folder: Path) -> None:
    """A folder full of other things is not a cluster's, whatever the user typed."""
    entries = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    if folder.is_file() or (entries and not entries & {BROKERS, LOCK}):
        raise ForeignState(
            f"expected an empty folder or that of a cluster, found other files in {folder}", remedy="name another"
        )
