"""The processes that replay changelogs for a member, from the member's side.

Replaying is work of the processor, and a member has one thread for everything: with a process for each of several partitions a restore
takes as long as the machine's processors need together, and the partitions that the member already has go on meanwhile.
"""

import logging
import os
import pickle
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gregor.config.sections import MIB
from gregor.runtime.child_process import child_command, child_environment
from gregor.runtime.state.changelog import Foreign
from gregor.runtime.transport.kafka.restore_worker import DONE, FOREIGN, RestoreTask

_log: Final = logging.getLogger("gregor.kafka.restore")

MOST: Final = 8
"""Processes of one member: beyond that disks and brokers are slower than processors."""
LEAST_BUFFER_BYTES: Final = 16 * MIB
CPU_LIMIT: Final = Path("/sys/fs/cgroup/cpu.max")


class RestorePool:
    """At most as many at work as the machine has processors."""

    def __init__(self) -> None:
        self._most = min(MOST, _processors())
        self._busy: list[RestoreJob] = []
        self._idle: list[Worker] = []

    @property
    def full(self) -> bool:
        return len(self._busy) >= self._most

    def start(self, task: RestoreTask) -> "RestoreJob | None":
        """None: no process can do that here, do it yourself."""
        options = task.options
        share = replace(
            options,
            block_cache_bytes=options.block_cache_bytes // self._most,
            write_buffer_bytes=max(LEAST_BUFFER_BYTES, options.write_buffer_bytes // self._most),
        )
        try:
            packed = pickle.dumps(replace(task, options=share))
            if b"__main__" in packed:
                raise pickle.PicklingError("the functions of its state belong to this program alone")
            worker = self._free()
        except (OSError, pickle.PicklingError, AttributeError, TypeError) as error:
            _log.warning("partition %d is replayed without a process of its own: %s", task.identity.partition, error)
            return None
        one = RestoreJob(self, worker)
        self._busy.append(one)
        worker.send(packed)
        return one

    def _free(self) -> "Worker":
        while self._idle:
            worker = self._idle.pop()
            if not worker.dead:
                return worker
            worker.kill()
        return Worker()

    def back(self, one: "RestoreJob", worker: "Worker | None") -> None:
        """``worker``: can take the next task."""
        self._busy.remove(one)
        if worker is not None:
            self._idle.append(worker)

    def dismiss(self) -> None:
        """Those that have nothing to do; the next task starts new ones."""
        for worker in self._idle:
            worker.kill()
        self._idle.clear()


class RestoreJob:
    """One partition in a process that serves it alone."""

    def __init__(self, pool: RestorePool, worker: "Worker") -> None:
        self._pool = pool
        self._worker = worker
        self._done = False
        self.reached: int | None = None
        """The offset up to which the store has the log; None: nothing was heard yet."""
        self.foreign: list[Foreign] = []
        """What it passed over."""

    @property
    def pid(self) -> int:
        return self._worker.pid

    @property
    def ended(self) -> bool:
        """Whether it is done, or will never be."""
        # Before its last words are read.
        dead = self._worker.dead
        for line in self._worker.lines():
            if line == DONE:
                self._done = True
            elif line.startswith(FOREIGN):
                _, offset, size, *beginning = line.split()
                self.foreign.append(Foreign(int(offset), int(size), bytes.fromhex("".join(beginning))))
            else:
                self.reached = int(line)
        return self._done or dead

    def close(self) -> bool:
        """Whether it was done; the store is nobody's afterwards, in any case."""
        if self._done:
            self._pool.back(self, self._worker)
        else:
            self._worker.kill()
            self._pool.back(self, None)
        return self._done


class Worker:
    """One process."""

    def __init__(self) -> None:
        command = child_command("gregor.runtime.transport.kafka.restore_worker", str(os.getpid()))
        # It ignores these as soon as it can; until then they wait, and a Ctrl-C is for the member alone.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            self._process = subprocess.Popen(
                command, env=child_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._rest = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def dead(self) -> bool:
        return self._process.poll() is not None

    def send(self, data: bytes) -> None:
        # To one that has died: it is found dead.
        with suppress(BrokenPipeError):
            self._input.write(data)
            self._input.flush()

    def lines(self) -> list[str]:
        """What it has said since it was last asked."""
        with suppress(BlockingIOError):
            self._rest += os.read(self._output.fileno(), 65_536)
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode() for line in lines]

    def kill(self) -> None:
        self._process.kill()
        self._output.close()
        with suppress(BrokenPipeError):
            self._input.close()
        self._process.wait()


def _processors() -> int:
    """That this process may use: a container that is allowed two sees all of its machine's."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # "max" where there is no limit, and no such file outside of a container.
    with suppress(OSError, ValueError):
        quota, period = map(int, CPU_LIMIT.read_text().split())
        return max(1, min(there, quota // period))
    return there
