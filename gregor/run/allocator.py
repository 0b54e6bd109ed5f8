"""The C allocator's habits, changed for a process that lives long and has many threads.

By itself it gives every thread a heap of its own, eight for each core, and keeps ever larger blocks for later: what RocksDB's threads and
the stages freed was a third of the memory of a long crawl.
"""

import ctypes
import sys
from typing import Final

_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
_ARENAS: Final = 2
_LARGE_BYTES: Final = 512 * 1024
"""Blocks from here on are given back when they are freed; RocksDB's write buffers consist of such of 1 MiB."""


def be_frugal() -> None:
    """To be called before threads are started; elsewhere than with glibc nothing happens."""
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_ARENA_MAX, _ARENAS)
            mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
