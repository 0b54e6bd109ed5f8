"""A crawl of one stage as several processes on real brokers, and what must be true of it afterwards, whatever was done to it."""

import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.run.progress import is_done, look
from gregor.runtime.state.changelog import Replica, StoreIdentity
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Store
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output, StageSpec
from infra.kafka.cluster import KafkaCluster
from schemas.control import Layout
from tests.chaos.copier import SMALL
from tests.chaos.processes import Running, running, until

PARTITIONS = 4
Families = dict[str, list[tuple[bytes, bytes]]]


class Storm:
    """The workers run ``module``, a stage of ``spec``."""

    def __init__(self, module: str, spec: StageSpec, folder: Path, kafka: KafkaSection, workers_kafka: str) -> None:
        self.module = module
        self.spec = spec
        self.folder = folder
        self.kafka = kafka
        self.names = Names(f"storm-{secrets.token_hex(4)}")
        self.workers: list[Running] = []
        self._workers_kafka = workers_kafka
        clients = Clients(self.names, kafka)
        create(clients, clients.wait_for_broker(), Layout(repositories=4096, partitions=PARTITIONS))
        self.transport = KafkaTransport(self.names, kafka, folder / "look", SharedMemory(SMALL))

    def command(self, number: int) -> tuple[str | Path, ...]:
        return "-m", self.module, self._workers_kafka, self.names.crawl, self.folder / str(number)

    def append(self, outputs: Sequence[Output]) -> None:
        for at in range(0, len(outputs), 1000):
            self.transport.append(outputs[at : at + 1000])

    def passed(self) -> int:
        """How much of the output is there, markers included: a rough measure of the way to go."""
        return sum(end for _, end in self.transport.ends("schedule").values())

    def values(self, topic: str) -> Counter[bytes]:
        """Everything committed in a topic, with how often it is there."""
        return Counter(
            record.value or b""
            for partition in self.transport.ends(topic)
            for record in self.transport.read(topic, partition, 0)
        )

    def wait_until_done(self) -> None:
        before = look(self.transport, [self.spec], PARTITIONS)

        def done() -> bool:
            nonlocal before
            now = look(self.transport, [self.spec], PARTITIONS)
            same, before = is_done(before, now), now
            return same

        until(done, "everything has been passed on", 0.5, self.workers)

    def check_states(self) -> None:
        """What the members hold equals what the changelog alone gives, byte for byte."""
        for worker in self.workers:
            code, printed = worker.terminate()
            assert code == 0, printed
        lived = {
            partition: families
            for number in range(len(self.workers))
            for partition, (sequence, families) in self._dump(number).items()
            if sequence == self._last_sequence(partition)
        }
        assert lived.keys() == set(range(PARTITIONS))
        shutil.rmtree(self.folder / "0" / self.spec.name)
        with running(*self.command(0)) as alone:
            until(self._all_by_the_first, "all partitions are restored", 0.5, [alone])
        for partition, (_, families) in self._dump(0).items():
            assert families == lived[partition], f"partition {partition}"

    def _dump(self, number: int) -> dict[int, tuple[int, Families]]:
        """Partition to its last checkpoint's number and everything that its families hold."""
        assert self.spec.state is not None
        dumped = {}
        for path in sorted((self.folder / str(number) / self.spec.name).glob("partition-*")):
            store = Store(path, self.spec.state.families, SharedMemory(SMALL))
            partition = int(path.name[-4:])
            replica = Replica.open(store, self.spec.state, self._identity(partition))
            held = {family: list(replica.reader.scan(family)) for family in self.spec.state.families}
            dumped[partition] = replica.sequence, held
            store.close()
        return dumped

    def _identity(self, partition: int) -> StoreIdentity:
        changelog = self.transport._changelog(self.spec, self.folder)
        assert changelog is not None
        return changelog.identity(partition)

    def _all_by_the_first(self) -> bool:
        """Whether worker 0, the only one left, has committed every partition since its state was thrown away."""
        member = self.folder / "0" / self.spec.name / "member"
        members = {self._last_member(partition) for partition in range(PARTITIONS)}
        return member.exists() and members == {member.read_text()}

    def _last_sequence(self, partition: int) -> int:
        checkpoint = self.transport.last_checkpoint(self.spec.name, partition)
        return checkpoint.sequence if checkpoint else 0

    def _last_member(self, partition: int) -> str:
        checkpoint = self.transport.last_checkpoint(self.spec.name, partition)
        return checkpoint.member if checkpoint else ""


@contextmanager
def storming(made: Storm, workers: int) -> Iterator[None]:
    """The workers, alive until the block ends."""
    with ExitStack() as stack:
        for number in range(workers):
            made.workers.append(stack.enter_context(running(*made.command(number))))
        yield


def kafka_of(cluster: KafkaCluster, replication: int = 1) -> KafkaSection:
    return KafkaSection(bootstrap=cluster.bootstrap, session_timeout_s=6.0, replication=replication)
