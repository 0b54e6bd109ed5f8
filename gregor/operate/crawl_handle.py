"""Where a crawl is, how it is read, and how a command reaches it.

On one machine a process may hold the crawl's folder. Reading never asks it: a second look at its database suffices. A command is
carried out here when nobody holds the folder, and left in its mailbox otherwise.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, Protocol

from gregor.config import Config
from gregor.errors import FolderInUse, NoAccess, UsageError
from gregor.operate import mailbox
from gregor.operate.commands import Command, carry_out
from gregor.run.topology import ROLES
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded.folder import identity_of
from gregor.runtime.transport.embedded.read_only import ReadOnlyLog
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import LogReader

LOG: Final = "state"
"""Name of the log's folder within the folder that a crawl writes its results to."""
CLUSTER_CONFIG: Final = "gregor.toml"
"""What `gregor cluster` writes into its folder, beside that of its brokers."""
PATIENCE_S: Final = 5.0
"""For a running crawl to take in a command; it looks several times a second."""
_SMALL: Final = StoreOptions(block_cache_bytes=32 * 1024 * 1024, write_buffer_bytes=16 * 1024 * 1024)


def log_folder(folder: Path) -> Path:
    """The log's folder, given the folder of a crawl or its own; UsageError when neither is there, NoAccess when it may not be used."""
    for place in (folder / LOG, folder):
        if (place / "folder.json").is_file():
            if not os.access(place / "db", os.R_OK | os.W_OK | os.X_OK):
                raise NoAccess(
                    f"expected a folder that this user may read and write, found {place}", remedy="run as who crawls"
                )
            return place
    if (folder / CLUSTER_CONFIG).is_file() and (folder / "kafka").is_dir():
        raise UsageError(
            f"expected the folder of a crawl on this machine, found that of a cluster: {folder}",
            remedy=f"while `gregor cluster` runs, it is reached by `gregor --config {folder / CLUSTER_CONFIG}` and no folder",
        )
    found = "no crawl in it" if folder.is_dir() else "no such folder"
    raise UsageError(
        f"expected the folder of a crawl, found {found}: {folder}",
        remedy="name the folder that was given to `gregor crawl`, or the cluster with --bootstrap or kafka.bootstrap",
    )


class CrawlHandle(Protocol):
    """One crawl, to be looked at and told what to do."""

    @property
    def crawl(self) -> str: ...

    @property
    def partitions(self) -> int: ...

    @property
    def placement(self) -> Literal["hash", "sites"]:
        """Whether servers live where their hash says, or where a coordinator placed their sites."""
        ...

    @property
    def where(self) -> str:
        """The folder or the brokers, for people."""
        ...

    @property
    def reader(self) -> LogReader: ...

    def catch_up(self) -> None:
        """Let the reader show the crawl as it is now."""
        ...

    def running(self) -> bool | None:
        """Whether a process works on the crawl; None: cannot be told."""
        ...

    def members(self, stage: str) -> int | None:
        """Processes in a stage's group; None: cannot be told."""
        ...

    def has_mail(self) -> bool:
        """Whether commands wait to be carried out: what the reader shows may be about to change."""
        ...

    def send(self, command: Command) -> str:
        """Carry a command out, or have it carried out; says what came of it."""
        ...

    def close(self) -> None: ...


class FolderHandle:
    """A crawl on one machine, by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = log_folder(folder)
        self._reader = ReadOnlyLog(self.folder)

    @property
    def crawl(self) -> str:
        return self._reader.identity.crawl

    @property
    def partitions(self) -> int:
        return self._reader.identity.partitions

    @property
    def placement(self) -> Literal["hash", "sites"]:
        return self._reader.identity.placement

    @property
    def where(self) -> str:
        return str(self.folder)

    @property
    def reader(self) -> LogReader:
        return self._reader

    def catch_up(self) -> None:
        self._reader.catch_up()

    def running(self) -> bool | None:
        return is_held(self.folder / "db" / "LOCK")

    def members(self, stage: str) -> int | None:
        return None

    def has_mail(self) -> bool:
        return bool(mailbox.waiting(self.folder))

    def send(self, command: Command) -> str:
        return send_to_folder(self.folder, command)

    def close(self) -> None:
        self._reader.close()


class KafkaHandle:
    """A crawl on a cluster, by its configuration; ``folder`` may hold a worker's state, which explain can use."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._config = config
        self._transport = KafkaTransport(config.names, config.kafka, folder, SharedMemory(_SMALL))
        self._transport.require(config.layout)

    @property
    def crawl(self) -> str:
        return self._config.crawl.name

    @property
    def partitions(self) -> int:
        return self._config.partitions.partitions

    @property
    def placement(self) -> Literal["hash", "sites"]:
        return self._config.partitions.placement

    @property
    def where(self) -> str:
        return self._config.kafka.bootstrap

    @property
    def reader(self) -> LogReader:
        return self._transport

    def catch_up(self) -> None:
        """A broker always tells the present."""

    def running(self) -> bool | None:
        return any(self.members(stage) for stage in ROLES)

    def members(self, stage: str) -> int | None:
        return self._transport.members(stage)

    def has_mail(self) -> bool:
        return False

    def send(self, command: Command) -> str:
        return carry_out(command, self._transport)

    def close(self) -> None:
        self._transport.close()


def send_to_folder(folder: Path, command: Command, wait: Callable[[Path, float], bool] = mailbox.taken) -> str:
    """To the log in ``folder``: carried out here, or by the process that holds it."""
    identity = identity_of(folder)
    assert identity is not None
    settings = EmbeddedSettings(crawl=identity.crawl, partitions=identity.partitions, placement=identity.placement)
    specs = [role.spec for role in ROLES.values()]
    try:
        transport = EmbeddedTransport.at(folder, settings, SharedMemory(_SMALL), specs)
    except FolderInUse:
        letter = mailbox.post(folder, command)
        if wait(letter, PATIENCE_S):
            return "the running crawl was told"
        return "left in the crawl's mailbox: whoever holds its folder has not taken it yet, and will when it looks"
    try:
        mailbox.deliver(folder, transport)
        return carry_out(command, transport)
    finally:
        transport.close()


def is_held(lock: Path) -> bool | None:
    """Whether a process holds a lock on the file; None: the system does not tell. The file is not opened: closing it again would drop
    a lock of our own."""
    try:
        inode = lock.stat().st_ino
        table = Path("/proc/locks").read_text()
    except OSError:
        return None
    return any(line.split()[5].rpartition(":")[2] == str(inode) for line in table.splitlines() if "->" not in line)
