"""Durable state of a partition: RocksDB families, the pending overlay, packed changes and the rolling snapshot."""
