"""Topic ``archive`` (compacted by file): how much of each archive file is committed."""

from msgspec import Struct

from schemas.codec import decoder


class ArchiveFile(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One WARC file; bytes beyond ``length`` do not exist for any reader."""

    file: str
    """partition-firstoffset-member; also the record's key."""
    length: int
    """Committed bytes."""
    partition: int
    """Partition of ``pages`` that the file holds."""
    first: int
    """Offset of the first page in the file."""
    last: int
    """Offset of the last committed page."""
    records: int = 0
    closed: bool = False
    """True once the file was rotated and will not grow."""
    opened_ms: int = 0


decode_archive_file = decoder(ArchiveFile)
