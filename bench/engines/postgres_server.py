"""A PostgreSQL of the benchmark's own: from Debian's packages, on a unix socket in a private folder, never as root, gone with its owner."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.engines.interface import Stats
from bench.engines.provision import Missing, need

_LEASH: Final = Path(__file__).parents[2] / "infra" / "kafka" / "leash.py"
_PATIENCE_S: Final = 60.0
_SETTINGS: Final = {
    "listen_addresses": "",
    "shared_buffers": "256MB",
    # Like the other engines: what is committed survives the death of a process, not of the machine.
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "autovacuum": "off",
    "max_connections": "4",
    "logging_collector": "off",
}


def binaries() -> Path:
    """The newest installed server's programs."""

    def find() -> Path | None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[4]))
        return found[-1].parent if found else None

    return need("a PostgreSQL server in /usr/lib/postgresql", ("postgresql",), find)


class PostgresServer:
    """One running server with an empty cluster."""

    def __init__(self) -> None:
        programs = binaries()
        # Not below the benchmark's folder: a socket's path must be short, and the folder belongs to another user.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._as_user: list[str] = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
        data = self.folder / "data"
        self._run([str(programs / "initdb"), "-D", str(data), "-U", "bench", "-A", "trust", "--no-sync", "-E", "UTF8"])
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [str(programs / "postgres"), "-D", str(data), "-k", str(self.folder), *settings]
        leash = [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid())]
        self._log = self.folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*leash, *self._as_user, *command], cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._wait(programs / "pg_isready")
        self.version = self._run([str(programs / "postgres"), "--version"]).split()[2]

    @property
    def address(self) -> str:
        return f"host={self.folder} user=bench dbname=postgres"

    @property
    def pid(self) -> int:
        return self._process.pid

    def traffic(self) -> Stats:
        """Bytes that all of the server's processes, also those that ended, have read and written."""
        read = written = 0
        for pid in (self._process.pid, *_children(self._process.pid)):
            try:
                lines = Path(f"/proc/{pid}/io").read_text().split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            read, written = read + int(lines[1]), written + int(lines[3])
        return Stats(read, written)

    def cpu(self) -> float:
        """Seconds of processor of all processes, also of those that ended."""
        ticks = 0
        for pid in (self._process.pid, *_children(self._process.pid)):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            own = 2 if pid != self._process.pid else 4
            ticks += sum(int(field) for field in fields[11 : 11 + own])
        return ticks / os.sysconf("SC_CLK_TCK")

    def rss(self) -> int:
        """Bytes of memory of all processes together, what they share counted once."""
        total = 0
        for pid in (self._process.pid, *_children(self._process.pid)):
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                continue
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total * 1024

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self, is_ready: Path) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while subprocess.run([str(is_ready), "-q", "-h", str(self.folder)], check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                text = self._log.read_text(errors="replace")[-500:]
                self.stop()
                raise Missing(f"expected PostgreSQL to answer on {self.folder}, found: {text}", remedy="read its log")
            time.sleep(0.05)

    def _run(self, command: list[str]) -> str:
        done = subprocess.run([*self._as_user, *command], cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"{command[0]} failed: {done.stderr.strip()[-300:]}", remedy="see what it says")
        return done.stdout


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
