"""How commands reach a crawl whose folder another process holds: a file each, which that process takes in and deletes.

    mailbox/NUMBER-PID-TOKEN.json        one command (commands.py); the number is a time, so that names sort as they were posted
    mailbox/NAME.refused                 a command that cannot be obeyed, kept for whoever wonders

A command appears whole, by a rename. A crash between carrying it out and deleting it makes it happen again, which every command
permits. Nobody runs the crawl: the command waits, and the next one who opens the folder takes it in first.
"""

import logging
import os
import secrets
import time
from pathlib import Path
from typing import Final

from gregor.errors import EXIT_ENVIRONMENT, CommitFailed, GregorError
from gregor.operate.commands import Command, carry_out, decode_command, encode_command
from gregor.runtime.transport.port import Transport

_log: Final = logging.getLogger("gregor.operate")

MAILBOX: Final = "mailbox"
LARGEST: Final = 16 * 1024 * 1024
_ENDING: Final = ".json"


def post(folder: Path, command: Command) -> Path:
    """Leave a command in the log's folder; durable when this returns."""
    try:
        return _posted(folder / MAILBOX, command)
    except OSError as error:
        raise GregorError(
            f"no command can be left in {folder / MAILBOX}: {error.strerror}",
            exit_code=EXIT_ENVIRONMENT,
            remedy="see that its disk is well and not full",
        ) from error


def _posted(box: Path, command: Command) -> Path:
    box.mkdir(exist_ok=True)
    name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
    unfinished = box / f"{name}.new"
    with unfinished.open("wb") as file:
        file.write(encode_command(command))
        file.flush()
        os.fsync(file.fileno())
    letter = unfinished.with_name(name + _ENDING)
    unfinished.rename(letter)
    return letter


def deliver(folder: Path, transport: Transport) -> int:
    """Carry out what was posted, in order; gives how many commands. For the process that holds the folder, every now and then."""
    done = 0
    for letter in waiting(folder):
        try:
            with letter.open("rb") as file:
                command = decode_command(file.read(LARGEST))
            said = carry_out(command, transport)
        except CommitFailed as error:
            _log.warning("a command waits for the next try: %s", error)
            break
        except (GregorError, ValueError, OSError) as error:
            _log.warning("the command %s is refused: %s", letter.name, error)
            letter.rename(letter.with_suffix(".refused"))
            continue
        _log.info("carried out a command: %s", said)
        letter.unlink()
        done += 1
    return done


def taken(letter: Path, patience_s: float) -> bool:
    """Whether a posted command is taken in within that time; GregorError when it was refused."""
    give_up = time.monotonic() + patience_s
    while letter.exists():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    if letter.with_suffix(".refused").exists():
        raise GregorError("the running crawl refused the command", remedy="its own messages say why")
    return True


def waiting(folder: Path) -> list[Path]:
    """The commands that were posted and not yet carried out, in order."""
    box = folder / MAILBOX
    try:
        names = sorted(name for name in os.listdir(box) if name.endswith(_ENDING))
    except FileNotFoundError:
        return []
    return [box / name for name in names]
