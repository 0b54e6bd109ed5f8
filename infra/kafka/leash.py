"""Runs a command that dies with its owner: `python leash.py OWNER-PID COMMAND...`.

The process becomes the command itself (same pid), after leaving behind a small watcher that waits, by pidfd, for
whichever ends first. When the owner ends, however it ends, the watcher kills the command. PR_SET_PDEATHSIG would fire
when the *thread* that started us ends, and a pipe would be held open by every process forked from the owner; a pidfd
knows the process and nothing else.

Standard library only: it is started with `python -I -S`.
"""

import os
import select
import signal
import sys


def main(owner: int, command: list[str]) -> None:
    owner_fd = os.pidfd_open(owner)
    # Had the owner died before the line above, its pid could be another's now; still being its child excludes that.
    if os.getppid() != owner:
        sys.exit("the owner ended before the command was started")
    own_fd = os.pidfd_open(os.getpid())
    if os.fork() == 0:
        watch(owner_fd, own_fd)
        os._exit(0)
    os.execvp(command[0], command)


def watch(owner_fd: int, command_fd: int) -> None:
    """Return when the command has ended, by itself or because its owner did."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    poll = select.poll()
    poll.register(owner_fd, select.POLLIN)
    poll.register(command_fd, select.POLLIN)
    ended = {fd for fd, _ in poll.poll()}
    if command_fd not in ended:
        signal.pidfd_send_signal(command_fd, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
