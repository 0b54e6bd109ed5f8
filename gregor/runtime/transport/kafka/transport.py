"""The Kafka engine of the port, bound to one crawl on one cluster."""

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException

from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.errors import Aborted, CorruptState, TransportError, UnknownOutcome
from gregor.runtime.state.changelog import StoreIdentity, known_of
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.read_only import ReadOnlyStore
from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.kafka.admin_queries import ANSWER_TIMEOUT_S, Answer, ask, partitions_of
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.member import MemberFolder
from gregor.runtime.transport.kafka.reading import ends_now, read_range
from gregor.runtime.transport.kafka.records import headers_of
from gregor.runtime.transport.kafka.restore import Changelog, partition_folder
from gregor.runtime.transport.kafka.session import KafkaSession
from gregor.runtime.transport.kafka.topics import make_topic, require
from gregor.runtime.transport.kafka.transaction import FENCED, patiently
from gregor.runtime.transport.port import Output, Position, Record, StageSpec, TopicPartition
from schemas.changelog import CHECKPOINT_KEY, Checkpoint, could_be_ours, decode_checkpoint
from schemas.codec import Undecodable
from schemas.control import Layout
from schemas.topics import Topic

_log: Final = logging.getLogger("gregor.kafka")


class KafkaTransport:
    """Sessions, bounded reads and positions on a cluster."""

    def __init__(self, names: Names, kafka: KafkaSection, folder: Path, memory: SharedMemory) -> None:
        self._clients = Clients(names, kafka)
        self._admin = self._clients.wait_for_broker()
        self._folder = folder
        self._memory = memory
        self._looked_at: list[ReadOnlyStore] = []
        self._askers: dict[str, ck.Consumer] = {}
        """One for each group whose positions were asked for, and one for everything else: whoever looks at a crawl looks again, and a
        new client costs the brokers more than its question."""
        self._last: dict[TopicPartition, tuple[int, Checkpoint | None]] = {}
        """The end of a changelog and the last checkpoint before it, when it was last read."""

    def require(self, layout: Layout) -> None:
        """Raises TopologyError, with the command that mends it, when the cluster does not hold this crawl's topics."""
        require(self._clients, self._admin, layout)

    def make_topic(self, topic: Topic, layout: Layout) -> bool:
        """A topic beside those of the table; False: it was there already."""
        return make_topic(self._clients, self._admin, topic, layout)

    def open(self, stage: StageSpec) -> KafkaSession:
        """Join the stage's group as the member whose id stands in ``folder/stage``."""
        folder = MemberFolder(self._folder / stage.name)
        try:
            folder.claim(self._clients.names.crawl, self._cluster_id())
            if stage.state is not None:
                return KafkaSession(self._clients, stage, folder, self._changelog(stage, folder.path))
            topic_id = self._topic_id(stage.inputs[0])
            if folder.has_committed(topic_id):
                self._require_positions(stage)
            return KafkaSession(self._clients, stage, folder, None, topic_id)
        except BaseException:
            folder.close()
            raise

    def _require_positions(self, stage: StageSpec) -> None:
        """Of a group that has committed: without any, it would do everything again from the beginning of the log."""
        found = self.committed(stage.name, stage.inputs)
        self._askers.pop(stage.name).close()
        if not found:
            group = self._clients.names.group(stage.name)
            raise TransportError(
                f"expected positions of the group {group}, which this member has committed, found none: a broker forgets those of a "
                "group that is away for longer than its offsets.retention.minutes",
                remedy="set them with Kafka's own `kafka-consumer-groups --reset-offsets`: --to-latest leaves out what was not done, "
                "--to-earliest does everything again",
            )

    def read(self, topic: str, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        reader = self._clients.bounded_reader()
        try:
            low, high = self.ends(topic)[partition]
            last = high if end is None else min(end, high)
            yield from read_range(
                self._clients, reader, TopicPartition(topic, partition), max(start, low), last, self.ends
            )
        finally:
            reader.close()

    def _asker(self, stage: str = "") -> ck.Consumer:
        if stage not in self._askers:
            self._askers[stage] = self._clients.read_only(stage) if stage else self._clients.bounded_reader()
        return self._askers[stage]

    def ends(self, topic: str) -> Mapping[int, tuple[int, int]]:
        return ends_now(self._clients, self._admin, topic)

    def since(self, topic: str, time_ms: int) -> Mapping[int, int]:
        full = self._clients.names.topic(topic)
        reader = self._asker()

        def look() -> list[ck.TopicPartition]:
            asked = [ck.TopicPartition(full, one, time_ms) for one in partitions_of(reader, full)]
            found: list[ck.TopicPartition] = reader.offsets_for_times(asked, timeout=ANSWER_TIMEOUT_S)
            for one in found:
                if one.error is not None:
                    raise KafkaException(one.error)
            return found

        found = self._ask(f"offsets of {topic} by time", look)
        ends = self.ends(topic)
        # Nothing so late: the client answers with a negative offset.
        return {one.partition: one.offset if one.offset >= 0 else ends[one.partition][1] for one in found}

    def _ask(self, what: str, question: Callable[[], Answer]) -> Answer:
        return ask(what, question, self._clients.kafka.give_up_after_s)

    def committed(self, stage: str, topics: Sequence[str]) -> Mapping[TopicPartition, Position]:
        """Asked through a consumer of the group that never joins: the admin request leaves out what a transaction has pending."""
        names = self._clients.names
        short = {names.topic(topic): topic for topic in topics}
        consumer = self._asker(stage)

        def look() -> list[ck.TopicPartition]:
            asked = [ck.TopicPartition(topic, one) for topic in short for one in partitions_of(consumer, topic)]
            answers: list[ck.TopicPartition] = consumer.committed(asked, timeout=ANSWER_TIMEOUT_S)
            for one in answers:
                if one.error is not None:
                    raise KafkaException(one.error)
            return answers

        found = self._ask(f"the positions of {stage}", look)
        return {
            TopicPartition(short[one.topic], one.partition): Position(one.offset, one.metadata or "")
            for one in found
            if one.offset >= 0
        }

    def members(self, stage: str) -> int:
        """How many members a stage's group has now."""
        group = self._clients.names.group(stage)
        described = self._ask(
            f"the members of {stage}",
            lambda: self._admin.describe_consumer_groups([group])[group].result(ANSWER_TIMEOUT_S),
        )
        return len(described.members)

    def last_checkpoint(self, stage: str, partition: int) -> Checkpoint | None:
        """The changelog is read backwards in growing steps: its last records are transaction markers, which are not delivered."""
        topic = f"{stage}-changelog"
        where = TopicPartition(topic, partition)
        reader = self._asker()
        start, end = self.ends(topic)[partition]
        known = self._last.get(where)
        if known is not None and known[0] == end:
            return known[1]
        back, found = 4, None
        while found is None and (back == 4 or end - back // 8 > start):
            for record in read_range(self._clients, reader, where, max(start, end - back), end, self.ends):
                if record.key == CHECKPOINT_KEY and could_be_ours(record.value):
                    found = record.value
            back *= 8
        reader.unassign()
        checkpoint = decode_checkpoint(found) if found is not None else None
        self._last[where] = end, checkpoint
        return checkpoint

    def state(self, stage: StageSpec, partition: int) -> StateReader | None:
        """What the member that lives in this transport's folder holds of the partition, if it is there: as of its last checkpoint."""
        folder = partition_folder(self._folder / stage.name, partition)
        if stage.state is None or not (folder / "CURRENT").exists():
            return None
        read_only = ReadOnlyStore(folder)
        self._looked_at.append(read_only)
        if not read_only.families.issuperset(stage.state.families):
            return None
        view = read_only.view()
        try:
            known = known_of(view)
        except Undecodable as error:
            raise CorruptState(f"{folder}: what the store knows of itself is unreadable: {error}") from error
        # A member that lost the partition before its first commit leaves a store of no moment at all.
        return view if known is not None and known.checkpoint is not None else None

    def trim(self, before: Mapping[TopicPartition, int]) -> None:
        names = self._clients.names
        first = {topic: self.ends(topic) for topic in {at.topic for at in before}}
        wanted = [
            ck.TopicPartition(names.topic(at.topic), at.partition, min(offset, first[at.topic][at.partition][1]))
            for at, offset in before.items()
            if offset > first[at.topic][at.partition][0]
        ]
        for where, future in (self._admin.delete_records(wanted) if wanted else {}).items():
            try:
                future.result(timeout=ANSWER_TIMEOUT_S)
            except KafkaException as error:
                raise TransportError(
                    f"{where.topic}[{where.partition}] was not trimmed: {error.args[0].str()}"
                ) from error

    def append(self, outputs: Sequence[Output]) -> None:
        """Tried again while it is certain that nothing was written."""
        give_up = time.monotonic() + self._clients.kafka.give_up_after_s
        while (refused := self._refusal(outputs)) is not None:
            if time.monotonic() > give_up:
                raise Aborted(f"the broker refused {len(outputs)} records, none was written: {refused.str()}")

    def _refusal(self, outputs: Sequence[Output]) -> KafkaError | None:
        """Why nothing was written, in a transaction of a producer that exists for this call; None: all was."""
        patience = self._clients.kafka.give_up_after_s
        # An id of its own: two processes that append at once must not fence each other.
        producer = self._clients.producer("cli", secrets.token_hex(8))
        try:
            patiently(patience, lambda: producer.init_transactions(ANSWER_TIMEOUT_S))
            producer.begin_transaction()
            try:
                self._produce(producer, outputs)
                patiently(patience, lambda: producer.commit_transaction(ANSWER_TIMEOUT_S))
                return None
            except KafkaException as error:
                cause: KafkaError = error.args[0]
                if cause.code() in FENCED:
                    # Not by somebody with the same id, of which there is none: it took too long, and the broker aborted it.
                    return cause
                if not cause.txn_requires_abort():
                    raise
                # Left open, the failed transaction would hide everything behind it until its time-out.
                patiently(patience, lambda: producer.abort_transaction(ANSWER_TIMEOUT_S))
                return cause
        except KafkaException as error:
            raise UnknownOutcome(
                f"whether {len(outputs)} records were written is not known: {error.args[0].str()}"
            ) from error

    def _produce(self, producer: ck.Producer, outputs: Sequence[Output]) -> None:
        for output in outputs:
            topic, headers = self._clients.names.topic(output.topic), headers_of(output)
            while True:
                try:
                    producer.produce(topic, output.value, output.key, output.partition, headers=headers)
                    break
                except BufferError:
                    # More records than the client takes at once.
                    producer.poll(0.1)

    def close(self) -> None:
        """Sessions are closed by their owners; what was only looked at is closed here."""
        for one in self._looked_at:
            one.close()
        for asker in self._askers.values():
            asker.close()
        self._looked_at, self._askers = [], {}

    def _changelog(self, stage: StageSpec, folder: Path) -> Changelog | None:
        if stage.state is None:
            return None
        topic = self._clients.names.topic(stage.changelog)
        cluster = self._cluster_id()
        topic_id = self._topic_id(stage.changelog)

        def identity(partition: int) -> StoreIdentity:
            return StoreIdentity(cluster=cluster, topic=topic_id, crawl=self._clients.names.crawl, partition=partition)

        return Changelog(
            clients=self._clients,
            topic=topic,
            spec=stage.state,
            folder=folder,
            memory=self._memory,
            identity=identity,
        )

    def _cluster_id(self) -> str:
        admin = self._admin
        return str(self._ask("the cluster's id", lambda: admin.describe_cluster().result(ANSWER_TIMEOUT_S)).cluster_id)

    def _topic_id(self, topic: str) -> str:
        """Another one when the topic was deleted and made again."""
        full, admin = self._clients.names.topic(topic), self._admin
        described = self._ask(
            f"the id of {full}",
            lambda: admin.describe_topics(ck.TopicCollection([full]))[full].result(ANSWER_TIMEOUT_S),
        )
        return str(described.topic_id)
