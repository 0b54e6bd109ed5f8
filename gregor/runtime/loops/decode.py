"""From records to what they mean; what cannot be read becomes a dead letter in the same commit, and processing goes on."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from gregor.config.problems import printable
from gregor.runtime.loops.contract import Decode, Received
from gregor.runtime.transport.port import Assignment, Output, Record, StageSpec
from schemas.codec import Undecodable, encode
from schemas.dead_letters import LARGEST_LETTER, DeadLetter

_log: Final = logging.getLogger("gregor.runtime.loops")

DEAD_LETTERS: Final = "dead-letters"
LONGEST_REASON: Final = 1000


def decode_all(
    records: Sequence[Record], decoders: Mapping[str, Decode], stage: str, now_ms: int
) -> tuple[list[Received], list[Output]]:
    """What could be read, and a dead letter for each record that could not."""
    received: list[Received] = []
    letters: list[Output] = []
    first: tuple[Record, Undecodable] | None = None
    for record in records:
        try:
            received.append(Received(record, decoders[record.topic](record)))
        except Undecodable as error:
            first = first or (record, error)
            letters.append(dead_letter(record, str(error), stage, now_ms))
    if first is not None:
        # Once for all of a batch: somebody may write thousands of them.
        _tell(*first, len(letters) - 1)
    return received, letters


def _tell(record: Record, error: Undecodable, more: int) -> None:
    _log.warning(
        "%s[%d] at offset %d cannot be read and goes to dead-letters, with %d more: %s",
        record.topic,
        record.partition,
        record.offset,
        more,
        printable(str(error), LONGEST_REASON),
    )


def decode_broadcast(
    records: Sequence[Record], decoders: Mapping[str, Decode]
) -> tuple[list[Received], Mapping[str, int]]:
    """As above, for topics that everybody reads, with a count of what could not be read by its topic: were they dead letters, every member
    would write them at every start."""
    received = []
    ignored: Counter[str] = Counter()
    first: tuple[Record, Undecodable] | None = None
    for record in records:
        try:
            received.append(Received(record, decoders[record.topic](record)))
        except Undecodable as error:
            first = first or (record, error)
            ignored[record.topic] += 1
    if first is not None:
        record, reason = first
        _log.warning(
            "a record of %s at offset %d is ignored, with %d more: %s",
            record.topic,
            record.offset,
            ignored.total() - 1,
            printable(str(reason), LONGEST_REASON),
        )
    return received, ignored


def dead_letter(record: Record, reason: str, stage: str, now_ms: int) -> Output:
    """The record's value as it was, or the beginning of one that is too long for a letter; its facts in the header."""
    value = record.value or b""
    letter = DeadLetter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        reason=reason[:LONGEST_REASON],
        stage=stage,
        key=_readable(record.key),
        header=_readable(record.header),
        size=-1 if record.value is None else len(record.value),
        found_ms=now_ms,
    )
    return Output(DEAD_LETTERS, 0, record.topic.encode(), value[:LARGEST_LETTER], encode(letter))


def foreign_letters(assignment: Assignment, spec: StageSpec, partition: int, now_ms: int) -> list[Output]:
    """What a restore passed over in the changelog: the beginning of each; the rest stays where it is until the log is cut. Each restore
    that meets such a record writes a letter of it, because nothing tells it who restored before; a snapshot's cycle ends that."""
    return [
        Output(
            DEAD_LETTERS,
            0,
            spec.changelog.encode(),
            one.beginning,
            encode(
                DeadLetter(
                    topic=spec.changelog,
                    partition=partition,
                    offset=one.offset,
                    reason="expected a delta, a snapshot piece or a checkpoint, found none of them",
                    stage=spec.name,
                    key="",
                    header="",
                    size=one.size,
                    found_ms=now_ms,
                )
            ),
        )
        for one in assignment.foreign
    ]


def _readable(data: bytes | None) -> str:
    return "" if data is None else data[:10_000].decode("utf-8", "backslashreplace")
