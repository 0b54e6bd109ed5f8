"""Kafka's messages as records of the port."""

from confluent_kafka import Message

from gregor.runtime.transport.port import Output, Record
from schemas.pages import FACTS_HEADER


def record_of(message: Message, topic: str) -> Record:
    """``topic`` is the short name. Of several headers the first counts; we never write more than one."""
    headers = message.headers()
    return Record(
        topic,
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        headers[0][1] if headers else None,
        message.timestamp()[1],
    )


def headers_of(output: Output) -> list[tuple[str, bytes]] | None:
    return None if output.header is None else [(FACTS_HEADER, output.header)]
