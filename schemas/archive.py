"""Topic ``archive`` (compacted by file): how much of each archive file is committed."""

from msgspec import Struct

from schemas.codec import Integer, decoder


class ArchiveFile(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One WARC file; bytes beyond ``length`` do not exist for any reader."""

    file: str
    """Name of the file: partition-firstoffset-member; also the record's key."""
    length: Integer
    """Committed bytes."""
    partition: Integer
    """Partition of ``pages`` that the file holds."""
    first: Integer
    """Offset in ``pages`` of the first page in the file."""
    last: Integer
    """Offset in ``pages`` of the last committed page."""
    records: Integer = 0
    """Committed WARC records; 0: none yet."""
    closed: bool = False
    """True once the file was rotated and will not grow; false: it may."""
    opened_ms: Integer = 0
    """When the file was begun, milliseconds since 1970; 0: not known."""


decode_archive_file = decoder(ArchiveFile)
