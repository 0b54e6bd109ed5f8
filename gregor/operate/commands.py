"""What an operator asks for, as values: they are carried out at once, or by the process that holds the crawl's folder.

Each may be carried out twice without harm, because a crash may come between doing it and noting that it is done.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from gregor.operate import dead_letters
from gregor.operate.sites import SiteCommands, site_outputs
from gregor.runtime.transport.port import Output, TopicPartition, Transport
from schemas.codec import Integer, Undecodable, encode
from schemas.control import Pause


class PutBack(Struct, frozen=True, kw_only=True, tag="put-back"):
    """Records that nobody could read go back to where they stood."""

    numbers: tuple[Integer, ...]
    """Their letters' offsets in ``dead-letters``."""
    now_ms: Integer = 0


class Trim(Struct, frozen=True, kw_only=True, tag="trim"):
    """Delete what lies before these offsets."""

    before: dict[str, dict[str, Integer]]
    """Topic to partition (in digits) to offset."""


Command = Pause | PutBack | Trim | SiteCommands

encode_command = encode
_decoder = msgspec.json.Decoder(Command)


def decode_command(data: bytes) -> Command:
    try:
        command: Command = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Undecodable(f"not a command: {error}") from error
    return command


def carry_out(command: Command, transport: Transport) -> str:
    """Do it, and say in one line what was done."""
    match command:
        case Pause():
            transport.append([pause_output(command)])
            what = command.server or "the whole crawl"
            return f"{what} is {'paused' if command.paused else 'resumed'}"
        case PutBack():
            back = dead_letters.put_back(transport, command.numbers, command.now_ms)
            before = len(command.numbers) - len(back)
            return f"{len(back)} of {len(command.numbers)} letters were put back" + (
                f", {before} had been before" if before else ""
            )
        case Trim():
            transport.trim(places(command))
            return f"{len(command.before)} topics were trimmed"
        case SiteCommands():
            outputs = site_outputs(command)
            transport.append(outputs)
            return "written for the coordinator"


def pause_output(pause: Pause) -> Output:
    key = f"server:{pause.server}" if pause.server else "crawl"
    return Output("control", 0, key.encode(), encode(pause))


def trim_of(before: Mapping[TopicPartition, int]) -> Trim:
    topics: dict[str, dict[str, int]] = {}
    for at, offset in before.items():
        topics.setdefault(at.topic, {})[str(at.partition)] = offset
    return Trim(before=topics)


def places(trim: Trim) -> dict[TopicPartition, int]:
    """Raises ValueError when a partition is not a number."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, offsets in trim.before.items()
        for partition, offset in offsets.items()
    }
