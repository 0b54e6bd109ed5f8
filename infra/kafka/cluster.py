"""One broker or three of them on loopback: started, killed, restarted, held still and wiped.

    with KafkaCluster(brokers=3) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        cluster.kill(cluster.leader("discovered", 0))

Brokers are named by index, which is also their node id. Their folder holds `cluster.json` and, for each, `broker-I`
with its settings, its log and its data. Without a folder of the caller's they live in a temporary one that goes when
the cluster stops.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from infra.kafka import answers
from infra.kafka.broker import SMALL_JVM, Broker, java_command
from infra.kafka.errors import KafkaError, PortTaken
from infra.kafka.jars import ensure_jars
from infra.kafka.ports import HOST, held_ports
from infra.kafka.properties import Node, server_properties

SIZES = (1, 3)
# Far beyond what a start takes on a busy machine: a guard against waiting for ever, not an expectation.
START_PATIENCE = 180.0
STOP_PATIENCE = 20.0
_START_TRIES = 5


class ClusterIdentity(msgspec.Struct, frozen=True):
    """What makes a folder this cluster's: written at the first start, compared at every later one."""

    id: str
    brokers: int


class KafkaCluster:
    """A context manager; `start` and `stop` do the same by hand. Not safe to drive from two threads at once."""

    def __init__(
        self,
        brokers: int = 1,
        folder: Path | None = None,
        port: int | None = None,
        jvm: tuple[str, ...] = SMALL_JVM,
        proxies: tuple[int, ...] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`port` is the first broker's, the others follow it; without it free ports are chosen.

        `proxies` are ports of proxies, one for each broker: clients that come in through them are told to stay with them. A 0 is
        a second way in without a proxy, which `settings`, more lines of server.properties, can make another kind of listener.
        """
        if brokers not in SIZES:
            raise KafkaError(f"a cluster here has 1 broker or 3, not {brokers}")
        self._count = brokers
        self._given_folder = folder
        self._first_port = port
        self._jvm = jvm
        self._proxies = proxies
        self._settings = settings
        self._folder: Path | None = None
        self._nodes: tuple[Node, ...] = ()
        self._brokers: tuple[Broker, ...] = ()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """The addresses for `bootstrap.servers`."""
        return ",".join(f"{HOST}:{node.port}" for node in self._nodes)

    @property
    def behind_proxies(self) -> tuple[int, ...]:
        """The ports to which the proxies forward, one for each broker."""
        return tuple(node.side_port for node in self._nodes)

    @property
    def folder(self) -> Path:
        if self._folder is None:
            raise KafkaError("the cluster has no folder before its start: call start() or enter its `with` block")
        return self._folder

    def start(self) -> None:
        """Return when every broker answers requests and knows all the others."""
        if self._brokers:
            raise KafkaError("the cluster was started already: stop() it first")
        jars = ensure_jars()
        self._folder = self._given_folder or Path(tempfile.mkdtemp(prefix="gregor-kafka-"))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            identity = self._identity()
            for attempt in range(1, _START_TRIES + 1):
                try:
                    self._start_on_free_ports(jars, identity)
                    return
                except PortTaken:
                    self._kill_all()
                    if attempt == _START_TRIES or self._first_port is not None:
                        raise
        except BaseException:
            self._kill_all()
            self._forget()
            raise

    def stop(self) -> None:
        """End every broker, in order if its data are kept. A cluster that does not run is left as it is."""
        if self._given_folder is not None:
            self._terminate_all()
        self._kill_all()
        self._forget()

    def wipe(self) -> None:
        """End every broker and remove all that was ever written to the cluster's folder."""
        folder = self._given_folder or self._folder
        self._kill_all()
        self._forget()
        if folder is None:
            return
        (folder / "cluster.json").unlink(missing_ok=True)
        for node in range(self._count):
            shutil.rmtree(folder / f"broker-{node}", ignore_errors=True)

    def pid(self, i: int) -> int:
        return self._brokers[i].pid

    def alive(self, i: int) -> bool:
        return self._brokers[i].alive

    def kill(self, i: int) -> None:
        """kill -9 broker i."""
        self._brokers[i].kill()

    def restart(self, *which: int) -> None:
        """Start brokers again on their ports and their data, stopping those in order that run; return when they answer.

        Those that died together must be named together: two of three answer nobody before they have found each other.
        """
        for i in which:
            broker = self._brokers[i]
            if broker.alive:
                broker.send(signal.SIGCONT)
                broker.send(signal.SIGTERM)
                if not broker.wait(STOP_PATIENCE):
                    broker.kill()
        for i in which:
            self._brokers[i].start()
        for i in which:
            self._await(i, frozenset({i}))

    def stop_process(self, i: int) -> None:
        """SIGSTOP: broker i keeps its connections and says nothing."""
        self._brokers[i].hold()

    def continue_process(self, i: int) -> None:
        self._brokers[i].send(signal.SIGCONT)

    def leader(self, topic: str, partition: int) -> int:
        """Which broker leads the partition now."""
        return answers.leader(self.bootstrap, topic, partition)

    def transaction_coordinator(self, transactional_id: str) -> int:
        """Which broker coordinates that id's transactions now; some producer must have used transactions before."""
        return answers.coordinator(self.bootstrap, "__transaction_state", transactional_id)

    def group_coordinator(self, group: str) -> int:
        """Which broker coordinates that consumer group now; some group must have been used before."""
        return answers.coordinator(self.bootstrap, "__consumer_offsets", group)

    def _identity(self) -> ClusterIdentity:
        file = self.folder / "cluster.json"
        if not file.exists():
            identity = ClusterIdentity(
                id=urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="), brokers=self._count
            )
            file.write_bytes(msgspec.json.encode(identity))
            return identity
        identity = msgspec.json.decode(file.read_bytes(), type=ClusterIdentity)
        if identity.brokers != self._count:
            raise KafkaError(
                f"{self.folder} holds a cluster of {identity.brokers}, asked for {self._count}: "
                "ask for the same number or choose another folder"
            )
        return identity

    def _start_on_free_ports(self, jars: Path, identity: ClusterIdentity) -> None:
        fixed = () if self._first_port is None else tuple(range(self._first_port, self._first_port + self._count))
        kinds = 3 if self._proxies else 2
        with held_ports(kinds * self._count - len(fixed), fixed) as ports:
            listening, controlling = ports[: self._count], ports[self._count : 2 * self._count]
            sides = ports[2 * self._count :] or (0,) * self._count
            advertised = self._proxies or (0,) * self._count
            self._nodes = tuple(
                Node(i, listening[i], controlling[i], sides[i], advertised[i]) for i in range(self._count)
            )
            self._write_settings()
            self._format(jars, identity)
        self._brokers = tuple(
            Broker(
                f"broker {node.id}",
                self._java(jars, "kafka.Kafka", str(home / "server.properties")),
                home / "broker.log",
            )
            for node in self._nodes
            for home in [self._home(node)]
        )
        for broker in self._brokers:
            broker.start()
        everyone = frozenset(node.id for node in self._nodes)
        for node in self._nodes:
            self._await(node.id, everyone)

    def _write_settings(self) -> None:
        for node in self._nodes:
            home = self._home(node)
            home.mkdir(exist_ok=True)
            (home / "server.properties").write_text(server_properties(node, self._nodes, home / "data", self._settings))

    def _format(self, jars: Path, identity: ClusterIdentity) -> None:
        """Prepare the storage of the brokers that have none yet."""
        formatting = []
        for node in self._nodes:
            home = self._home(node)
            if not (home / "data" / "meta.properties").exists():
                # One word each: an id may begin with a hyphen.
                arguments = ["format", f"--cluster-id={identity.id}", f"--config={home / 'server.properties'}"]
                command = self._java(jars, "kafka.tools.StorageTool", *arguments)
                formatting.append(
                    subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
                    )
                )
        said = [process.communicate()[0] for process in formatting]
        for process, output in zip(formatting, said, strict=True):
            if process.returncode != 0:
                raise KafkaError(f"Kafka could not format its storage in {self.folder}:\n{output[-3000:]}")

    def _await(self, i: int, expected: frozenset[int]) -> None:
        """Return when broker i answers that it sees at least the expected brokers; raise if it ends or never does."""
        address = f"{HOST}:{self._nodes[i].port}"
        patience_ends = time.monotonic() + START_PATIENCE
        while not expected <= answers.brokers_seen(address):
            dead = [broker for broker in self._brokers if not broker.alive]
            if self._brokers[i] in dead:
                raise self._brokers[i].death()
            if dead and len(expected) > 1:
                raise dead[0].death()
            if time.monotonic() > patience_ends:
                tail = self._brokers[i].log_tail()
                raise KafkaError(
                    f"broker {i} runs but did not answer for {START_PATIENCE:.0f} s; its log ends:\n{tail}"
                )
            time.sleep(0.05)

    def _terminate_all(self) -> None:
        running = [broker for broker in self._brokers if broker.alive]
        for broker in running:
            broker.send(signal.SIGCONT)
            broker.send(signal.SIGTERM)
        patience_ends = time.monotonic() + STOP_PATIENCE
        for broker in running:
            broker.wait(max(0.0, patience_ends - time.monotonic()))

    def _kill_all(self) -> None:
        for broker in self._brokers:
            broker.kill()

    def _forget(self) -> None:
        self._brokers = ()
        if self._given_folder is None and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _home(self, node: Node) -> Path:
        return self.folder / f"broker-{node.id}"

    def _java(self, jars: Path, main_class: str, *arguments: str) -> list[str]:
        return java_command(jars, self._jvm, main_class, *arguments)
