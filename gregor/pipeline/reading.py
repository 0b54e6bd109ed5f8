"""The log of a crawl for commands that only read it: a crawl's folder on this machine, or the cluster of the configuration."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gregor.config import Config
from gregor.pipeline.worker import kafka_transport
from gregor.transport.embedded.onlooker import EmbeddedOnlooker
from gregor.transport.port import LogReader


@contextmanager
def log_of(config: Config, folder: Path | None) -> Iterator[LogReader]:
    """``folder`` is what was given to `gregor crawl`; None: Kafka."""
    log: LogReader
    if folder is not None:
        log = EmbeddedOnlooker(folder)
    else:
        transport = kafka_transport(config, Path(config.state.folder))
        transport.require(config.layout)
        log = transport
    try:
        yield log
    finally:
        log.close()
