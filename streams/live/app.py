"""The Faust application that folds a crawl's records into its view."""

import os
import secrets
from collections.abc import Callable
from typing import Any, Final

import faust
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]
from faust.app.base import BootStrategy
from faust.exceptions import ConsumerNotStarted
from faust.types import TP, StreamT
from yarl import URL

from gregor.config import Config, resolve
from gregor.outputs.folds.crawl import CrawlView
from schemas.control import STOP_KEY
from streams.live.consumer import CommittedTransport
from streams.live.security import credentials_of

FOLDED: Final = ("fetched", "verdicts")
CONTROL: Final = "control"
BUFFERED: Final = 512
"""Records of a topic that wait to be folded; they may be of several MiB each, but hardly ever are."""


class _Boot(BootStrategy):
    """It writes nothing, and the web server is not Faust's."""

    enable_kafka_producer = False
    enable_web = False


class _App(faust.App):
    BootStrategy = _Boot

    async def on_first_start(self) -> None:
        """Makes no folders: nothing is kept on disk."""


class Folding:
    """A crawl's view while it is folded. All of it happens in the event loop that ``start`` was called in."""

    def __init__(self, config: Config, heeds_from: int, on_stop: Callable[[], None]) -> None:
        """``on_stop`` is called for a stop in ``control`` at this offset or later; earlier ones were meant for others."""
        self.view: Final = CrawlView()
        self._names = config.names
        self._heeds_from = heeds_from
        self._on_stop = on_stop
        self._app = _app(config)
        brokers = [URL(f"kafka://{broker.strip()}") for broker in config.kafka.bootstrap.split(",")]
        self._transport = self._app.transport = CommittedTransport(brokers, self._app)
        for topic in FOLDED:
            self._follow(topic, self._fold)
        self._follow(CONTROL, self._hear)

    async def start(self) -> None:
        await self._app.start()

    async def stop(self) -> None:
        await self._app.stop()

    async def ended(self) -> None:
        """Returns when it ended, and raises what it ended by unless it was stopped."""
        await self._app.wait_until_stopped()
        if self._app.crash_reason is not None:
            raise self._app.crash_reason

    @property
    def well(self) -> bool:
        return not self._app.should_stop

    async def behind(self) -> int | None:
        """Offsets of both topics that are not folded yet; None: not all of their partitions are assigned, as while it starts, or no
        broker answers."""
        try:
            return await self._count_behind() if self._app.started else None
        except (ConsumerNotStarted, KafkaError):
            return None

    async def _count_behind(self) -> int | None:
        consumer, transport = self._app.consumer, self._transport
        mine = {tp for tp in consumer.assignment() if tp.topic != self._names.topic(CONTROL)}
        counts = [consumer.topic_partitions(self._names.topic(topic)) for topic in FOLDED]
        if None in counts or len(mine) < sum(filter(None, counts)):
            return None
        behind = 0
        for tp, end in (await consumer.highwaters(*mine)).items():
            at = await consumer.position(tp)
            # What follows the last record may be markers of transactions, which are never delivered.
            waiting = transport.folded.get(tp, 0) < transport.fetched.get(tp, 0)
            behind += max(0, end - (transport.folded.get(tp, 0) if waiting or at is None else at))
        return behind

    def _follow(self, topic: str, take: Callable[[Any], None]) -> None:
        async def follow(stream: StreamT[bytes]) -> None:
            async for event in stream.events():
                message = event.message
                at = TP(message.topic, message.partition)
                # What a rebalance delivers again is already there.
                if message.offset >= self._transport.folded.get(at, 0):
                    take(message)
                    self._transport.folded[at] = message.offset + 1

        # Without acknowledgements: nobody asks for them, and Faust would keep a list of them.
        source = self._app.topic(
            self._names.topic(topic),
            acks=False,
            key_serializer="raw",
            key_type=bytes,
            value_serializer="raw",
            value_type=bytes,
        )
        self._app.agent(source, name=topic)(follow)

    def _fold(self, message: Any) -> None:
        self.view.record(message.topic.removeprefix(self._names.topic("")), message.value)

    def _hear(self, message: Any) -> None:
        if message.key == STOP_KEY and message.offset >= self._heeds_from:
            self._on_stop()


def _app(config: Config) -> _App:
    session_s = config.kafka.session_timeout_s
    return _App(
        # A group of this process alone: each views worker reads all of it.
        config.names.group(f"views-{secrets.token_hex(4)}"),
        broker=f"kafka://{config.kafka.bootstrap.split(',')[0].strip()}",
        broker_credentials=credentials_of(resolve(config.kafka.security, os.environ)),
        broker_client_id=f"gregor-{config.crawl.name}",
        broker_session_timeout=session_s,
        broker_heartbeat_interval=max(0.3, session_s / 10),
        broker_request_timeout=max(40.0, session_s + 5),
        stream_buffer_maxsize=BUFFERED,
        stream_wait_empty=False,
        # The crawl's topics are made by `gregor topics`, and no other is wanted.
        topic_allow_declare=False,
        topic_disable_leader=True,
        autodiscover=False,
        web_enabled=False,
    )
