"""A process that reads pages for the stage: `python -m workers.extractor.child`. It opens no store, no topic and no socket.

Frames of a length (4 bytes, big-endian) and that many bytes go in at standard input and out at what was standard
output; the first one in is the configuration. It ends with its input, or by the alarm when a page takes far too long and
nobody has stopped it from outside.
"""

import os
import signal
import sys
from typing import BinaryIO, Literal

import msgspec

from gregor.config import Config
from gregor.printable import log_printable
from gregor.rules.canonical import rules_of
from schemas.pages import decode_facts
from workers.extractor.items import Rule, Taken, take
from workers.extractor.plugin import Page
from workers.extractor.reading import Reading, ReadSettings, read

READY = b"ready"
GRACE_S = 5.0


class PageTask(msgspec.Struct, frozen=True, array_like=True):
    """One page, and what is wanted of it."""

    want: Literal["reading", "items"]
    facts: bytes
    body: bytes


encode = msgspec.msgpack.Encoder().encode
_decode_task = msgspec.msgpack.Decoder(PageTask).decode


def main() -> None:
    log_printable()
    source = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # What a plug-in prints or reads must not meet the frames.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # For the user's functions. Last: what lies there takes no other module's place.
    sys.path.append(os.getcwd())
    setup = read_frame(source)
    if setup is None:
        return
    config = msgspec.json.decode(setup, type=Config)
    settings = ReadSettings.of(config)
    rules = [Rule(rule, rules_of(config.url)) for rule in config.item]
    write_frame(answers, READY)
    while (frame := read_frame(source)) is not None:
        signal.setitimer(signal.ITIMER_REAL, config.extract.time_limit_s + GRACE_S)
        write_frame(answers, encode(answer(_decode_task(frame), settings, rules)))
        signal.setitimer(signal.ITIMER_REAL, 0)


def answer(task: PageTask, settings: ReadSettings, rules: list[Rule]) -> Reading | Taken:
    facts = decode_facts(task.facts)
    if task.want == "reading":
        return read(facts, task.body, settings)
    return take(Page(facts, task.body), rules)


def read_frame(source: BinaryIO) -> bytes | None:
    """The next frame; None: there is none."""
    length = source.read(4)
    if len(length) < 4:
        return None
    return source.read(int.from_bytes(length, "big"))


def write_frame(target: BinaryIO, data: bytes) -> None:
    target.write(len(data).to_bytes(4, "big") + data)
    target.flush()


if __name__ == "__main__":
    main()
