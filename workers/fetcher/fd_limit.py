"""Room for sockets: the process's limit of open files, raised as far as the connections need it."""

import resource
from typing import Final

from gregor.errors import ConfigError

OTHERS: Final = 512
"""Files, brokers, RocksDB."""


def allow_open_files(connections: int) -> None:
    """Raises ConfigError when the system does not allow as many."""
    need = connections + OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= need:
        return
    if hard != resource.RLIM_INFINITY and hard < need:
        raise ConfigError(
            f"fetch.connections: found {connections}, which needs {need} open files, but the system allows {hard}",
            remedy="lower it, or raise the limit (ulimit -Hn, LimitNOFILE= of systemd)",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))
