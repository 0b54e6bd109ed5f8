"""Durable state of a partition: RocksDB families, packed changes and the rolling snapshot. What the bytes mean, the stage knows alone."""
