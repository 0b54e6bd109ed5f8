"""A gzip member: one WARC record, compressed so that the same record always gives the same bytes.

zlib-ng at level 4 took 60% of zlib's time and made smaller files (docs/archive.md has the table). The header has no time and no name.
"""

from collections.abc import Sequence
from typing import Final

from zlib_ng import zlib_ng

_GZIP: Final = 31
"""zlib's window bits for a window of 32 KiB within a gzip member."""


def compress(parts: Sequence[bytes], level: int) -> bytes:
    """In one call, because the output may depend on where the input is cut."""
    deflate = zlib_ng.compressobj(level, zlib_ng.DEFLATED, _GZIP)
    return deflate.compress(b"".join(parts)) + deflate.flush()  # type: ignore[no-any-return, unused-ignore]
