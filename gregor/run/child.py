"""A process of a stage of an embedded crawl: what it is to do comes through its socket, and so does the log.

Run by children.py as `python -m gregor.run.child DESCRIPTOR PARENT`.
"""

import signal
import socket
import sys
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec import Struct

from gregor.config import Config
from gregor.errors import GregorError, no_room
from gregor.printable import log_printable
from gregor.run.allocator import be_frugal
from gregor.run.placement import placement_of
from gregor.runtime.loops.running import Loop
from gregor.runtime.parent_death import die_with_parent
from gregor.runtime.role import Role, Scratch
from gregor.runtime.transport.embedded.remote.session import RemoteSession


class Setup(Struct, frozen=True, kw_only=True):
    """The first thing that a child reads, as one line of JSON."""

    role: str
    """The module of the role; no other is imported."""
    member: str
    scratch: str
    """Folder for what the stage can do without; it lives and dies with the log."""
    config: Config


def main(descriptor: int, parent: int) -> None:
    # Whoever stops a whole service means the process that owns the log: it decides when this one ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    log_printable()
    die_with_parent(parent)
    be_frugal()
    connection = socket.socket(fileno=descriptor)
    setup = msgspec.json.decode(_line(connection), type=Setup)
    loops: list[Loop] = []
    session = RemoteSession(connection, setup.member, lambda: loops[0].stop(), read_ahead=True)
    scratch = Scratch(Path(setup.scratch), home=Path(setup.scratch), lasting=True)
    try:
        role: Role = import_module(setup.role).ROLE
        loops.append(role.make(setup.config, placement_of(setup.config), session, scratch))
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
