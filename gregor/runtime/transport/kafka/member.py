"""Who a member is: an id kept in its folder, so that a restart is known to the broker as the same member, and a lock on it; of which crawl
it is; and whether it has ever committed, which a broker forgets of a group that is away for long."""

import fcntl
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from gregor.errors import CorruptState, FolderInUse, ForeignState

_ID = re.compile(r"[a-z0-9]{8}")
_COMMITTED = "committed"
_CRAWL = "crawl"


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

    def claim(self, crawl: str, cluster: str) -> None:
        """For this crawl on this cluster. Raises ForeignState when the folder is that of another one."""
        note = self.path / _CRAWL
        wanted = f"{crawl}\n{cluster}\n"
        found = note.read_text(errors="replace") if note.exists() else ""
        if found and found != wanted:
            name, _, rest = found.partition("\n")
            raise ForeignState(
                f"{self.path}: expected the folder of a member of crawl {crawl!r} on the cluster {cluster}, found one of crawl "
                f"{name[:80]!r} on the cluster {rest.strip()[:80]}",
                remedy="name the folder that this worker had, or a new one; `gregor rebuild` lets this one begin anew",
            )
        if not found:
            note.write_text(wanted)

    def disown(self) -> None:
        """Forget of which crawl it is."""
        (self.path / _CRAWL).unlink(missing_ok=True)

    def has_committed(self, topic_id: str) -> bool:
        """Whether this member has ever committed a position in the topic, as ``note_commit`` says."""
        with suppress(OSError):
            return (self.path / _COMMITTED).read_text(errors="replace") == topic_id
        return False

    def note_commit(self, topic_id: str) -> None:
        if not self.has_committed(topic_id):
            # Without room for it, a broker that forgets is trusted.
            with suppress(OSError):
                (self.path / _COMMITTED).write_text(topic_id)

    def close(self) -> None:
        os.close(self._lock)
