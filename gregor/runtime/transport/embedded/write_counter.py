"""How many batches were written and how many of them had reached the disk, kept beside the database to testify against it.

RocksDB opens a write-ahead log that is broken in its middle, or gone, without a word and without what followed. This file knows better:

    | boot id 36 | written 8 | on disk 8 | crc32 of these 4 |

As long as the machine has not been started again, everything written must be there; afterwards, everything that was on disk.
"""

import os
from pathlib import Path
from struct import Struct as Layout
from typing import Final
from zlib import crc32

_LAYOUT: Final = Layout("<36sQQ")
_CRC: Final = Layout("<I")
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> bytes:
    """Changes whenever the machine starts; empty where the system does not tell."""
    try:
        return _BOOT.read_bytes().strip()[:36]
    except OSError:
        return b""


class WriteCounter:
    """One file of a folder; the folder's lock is held by the database."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._boot = boot_id()
        self._written = 0
        self._synced = 0

    def owed(self) -> int:
        """How many batches the database must have; 0 also when the file itself did not survive."""
        data = os.pread(self._file, _LAYOUT.size + _CRC.size, 0)
        if (
            len(data) != _LAYOUT.size + _CRC.size
            or crc32(data[: _LAYOUT.size]) != _CRC.unpack_from(data, _LAYOUT.size)[0]
        ):
            return 0
        boot, written, synced = _LAYOUT.unpack_from(data)
        same_boot = self._boot and boot.rstrip(b"\0") == self._boot
        return int(written if same_boot else synced)

    def written(self, count: int) -> None:
        self._written = count
        self._tell()

    def synced(self, count: int) -> None:
        self._synced = count
        self._tell()

    def close(self) -> None:
        os.close(self._file)

    def _tell(self) -> None:
        data = _LAYOUT.pack(self._boot, self._written, self._synced)
        os.pwrite(self._file, data + _CRC.pack(crc32(data)), 0)
