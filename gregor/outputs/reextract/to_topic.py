"""Items into a new topic of a cluster: a stage of its own, with a group of its own, so that each item is there once, whatever is killed.

The positions of the group are committed in the transactions that hold the items. The same command goes on where it was, on any machine,
and several at once share the partitions. It ends when the group has passed what stood in `pages` when it began.
"""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from gregor.config import Config
from gregor.errors import UsageError
from gregor.outputs.reextract.to_file import Reextracted, outcome
from gregor.run.placement import placement_of
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Event, Session, TopicPartition
from schemas.topics import BY_NAME, Topic
from workers.extractor.reextract import Reextraction

PAGES_AT_ONCE: Final = 50
LOOK_EVERY_S: Final = 0.5
SURPLUS_S: Final = 30.0
"""After which a process that got no partition believes that others have them all."""
TELL_EVERY_S: Final = 5.0
_MEMORY: Final = StoreOptions(block_cache_bytes=8 * 1024 * 1024, write_buffer_bytes=8 * 1024 * 1024)

Tell = Callable[[str], None]


class _InParts:
    """The session, which gives few pages at a time: rules are slow, and a person who interrupts them does not wait for thousands."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.member = session.member
        self.cheap_commit = session.cheap_commit
        self.commit = session.commit
        self.pause = session.pause
        self.resume = session.resume
        self.close = session.close

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        return self._session.poll(min(max_records, PAGES_AT_ONCE), max_bytes, wait)


def to_topic(
    config: Config,
    starts: Mapping[int, int],
    topic: str,
    folder: Path,
    stop: threading.Event,
    tell: Tell = lambda _: None,
) -> Reextracted:
    """``folder``: where the member keeps its id."""
    _check_name(topic)
    transport = KafkaTransport(config.names, config.kafka, folder, SharedMemory(_MEMORY))
    stage = Reextraction(config, placement_of(config), topic, starts)
    try:
        _make(transport, stage, config, topic)
        ends = {partition: end for partition, (_, end) in transport.ends("pages").items()}
        session = _InParts(transport.open(stage.spec))
        loop = StageLoop(stage, session, config.checkpoint, config_version=config.config_version, notes=stage.note)
        try:
            finished = _run(transport, loop, stage, ends, stop, tell)
        finally:
            session.close()
    finally:
        stage.close()
        transport.close()
    return outcome("the topic pages", stage.counts, stage.failures(), finished)


def _check_name(topic: str) -> None:
    allowed = topic and len(topic) <= 100 and all(one.isascii() and (one.isalnum() or one in "-_.") for one in topic)
    if not allowed or topic in BY_NAME:
        raise UsageError(
            f"expected the name of a new topic, of letters, digits, - _ and ., found {topic!r}",
            remedy="the crawl's own name is put before it, and its own topics cannot be named",
        )


def _make(transport: KafkaTransport, stage: Reextraction, config: Config, topic: str) -> None:
    """The topic, unless this very work has begun it."""
    wanted = Topic(name=topic, carries="items", key="server", written_by=("cli",), read_by=())
    made = transport.make_topic(wanted, config.layout)
    if not made and not transport.committed(stage.spec.name, ["pages"]):
        raise UsageError(
            f"expected a topic that is not there yet, found {config.names.topic(topic)}, which something else wrote",
            remedy="name another",
        )


def _run(
    transport: KafkaTransport,
    loop: StageLoop,
    stage: Reextraction,
    ends: Mapping[int, int],
    stop: threading.Event,
    tell: Tell,
) -> bool:
    """Whether all of it is done; False: asked to stop."""
    began = looked = told = time.monotonic()
    while not stop.is_set():
        loop.step(0.1)
        now = time.monotonic()
        if now - told >= TELL_EVERY_S:
            told = now
            tell(f"{stage.counts['pages']:,} pages read by this process")
        if now - looked >= LOOK_EVERY_S:
            looked = now
            # What was done before is judged by the rules when its partitions come.
            if (loop.owned or now - began >= SURPLUS_S) and _is_done(transport, stage, ends):
                return True
    loop.checkpoint()
    return False


def _is_done(transport: KafkaTransport, stage: Reextraction, ends: Mapping[int, int]) -> bool:
    passed = transport.committed(stage.spec.name, ["pages"])
    at = {partition: passed.get(TopicPartition("pages", partition)) for partition in ends}
    return all((found := at[partition]) is not None and found.offset >= end for partition, end in ends.items())
