"""The embedded transport: one RocksDB in one folder is log, group positions and state of every stage; a checkpoint is one WriteBatch."""

from gregor.runtime.transport.embedded.transport import EmbeddedTransport

__all__ = ["EmbeddedTransport"]
