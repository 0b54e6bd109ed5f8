"""Who a member is: an id kept in its folder, so that a restart is known to the broker as the same member, and a lock on it."""

import fcntl
import os
import re
import secrets
from pathlib import Path

from gregor.errors import CorruptState, FolderInUse

_ID = re.compile(r"[a-z0-9]{8}")


class MemberFolder:
    """The folder of one member of one stage, held until closed."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = os.open(path / "member", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise FolderInUse(f"{path} is held by another process") from error
        self.id = self._read_or_make()

    def _read_or_make(self) -> str:
        found = os.read(self._lock, 64).decode(errors="replace").strip()
        if not found:
            found = secrets.token_hex(4)
            os.write(self._lock, found.encode())
            os.fsync(self._lock)
        elif not _ID.fullmatch(found):
            self.close()
            raise CorruptState(f"{self.path / 'member'}: expected an id of 8 letters and digits, found {found[:40]!r}")
        return found

    def close(self) -> None:
        os.close(self._lock)
