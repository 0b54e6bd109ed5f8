"""The process of an extractor of an embedded crawl: what it is to do comes through its socket, and so does the log.

Run by children.py as `python -m gregor.pipeline.child DESCRIPTOR PARENT`.
"""

import signal
import socket
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from gregor.config import Config
from gregor.errors import GregorError, no_room
from gregor.pipeline.allocator import be_frugal
from gregor.pipeline.extracting import Scratch, extractor, placement_of
from gregor.stage.running import Loop
from gregor.transport.embedded.remote.session import RemoteSession
from gregor.transport.orphan import die_with_parent


class Setup(Struct, frozen=True, kw_only=True):
    """The first thing that a child reads, as one line of JSON."""

    member: str
    scratch: str
    """Folder for what the stage can do without; it lives and dies with the log."""
    config: Config


def main(descriptor: int, parent: int) -> None:
    # Whoever stops a whole service means the process that owns the log: it decides when this one ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    die_with_parent(parent)
    be_frugal()
    connection = socket.socket(fileno=descriptor)
    setup = msgspec.json.decode(_line(connection), type=Setup)
    loops: list[Loop] = []
    session = RemoteSession(connection, setup.member, lambda: loops[0].stop(), read_ahead=True)
    scratch = Scratch(Path(setup.scratch), home=Path(setup.scratch), lasting=True)
    try:
        loops.append(extractor(setup.config, placement_of(setup.config), session, scratch))
        loops[0].run()
    except Exception as error:
        told = error if isinstance(error, GregorError) else no_room(scratch.folder, error)
        if told is None:
            raise
        session.fail(told.message, told.remedy, told.exit_code)


def _line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = connection.recv(65_536)
        if not piece:
            sys.exit(0)
        line += piece
    return line


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
