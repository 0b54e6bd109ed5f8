"""Logs of crawls that never were, written record by record."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gregor.run.topology import ROLES
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.port import Output
from schemas.archive import ArchiveFile
from schemas.codec import encode
from schemas.fetched import Fetched
from schemas.verdicts import Verdict

PARTITIONS = 2


@contextmanager
def log_with(folder: Path, records: Sequence[Fetched | Verdict | ArchiveFile]) -> Iterator[EmbeddedTransport]:
    """A folder of an embedded crawl with these records in their topics."""
    specs = [role.spec for role in ROLES.values()]
    settings = EmbeddedSettings(crawl="made-up", partitions=PARTITIONS)
    transport = EmbeddedTransport.at(folder, settings, SharedMemory(StoreOptions()), specs)
    try:
        transport.append([_output(record, number) for number, record in enumerate(records)])
        yield transport
    finally:
        transport.close()


def _output(record: Fetched | Verdict | ArchiveFile, number: int) -> Output:
    if isinstance(record, ArchiveFile):
        return Output("archive", 0, record.file.encode(), encode(record))
    topic = "fetched" if isinstance(record, Fetched) else "verdicts"
    return Output(topic, number % PARTITIONS, record.server.encode(), encode(record))
