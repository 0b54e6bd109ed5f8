"""Where a process's time on the processor went: by its threads, which are named after their stages, and by its children."""

import os
import resource
import threading
from pathlib import Path
from typing import Final

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_MAIN: Final = "MainThread"
STORAGE: Final = "storage"
"""Threads that are not Python's: RocksDB's, which write and compact."""


def cpu_by_thread() -> dict[str, float]:
    """Seconds by stage, of the threads that live now."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    used: dict[str, float] = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            # The name in parentheses may hold anything; what is counted stands behind it.
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        name = names.get(int(task.name), STORAGE)
        stage = name if name.isidentifier() and name != _MAIN else "other"
        used[stage] = used.get(stage, 0.0) + (int(fields[11]) + int(fields[12])) * _TICK_S
    return used


def cpu_of_children() -> float:
    """Seconds of the processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
