"""By which names a web server of gregor may be asked for: addresses, localhost, this machine's name, and those of the configuration.

Otherwise a page of a stranger could have its own name lead here, and read the crawl in the browser of whoever opened it. A browser sends
the name by which it asks, and nobody can register an address.
"""

import re
import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Final

_HOST: Final = re.compile(r"(?:\[([0-9A-Za-z:.%]{1,255})\]|([\w.-]{1,255}))(?::\d{0,5})?", re.ASCII)


def known_hosts(names: Iterable[str]) -> Callable[[str], bool]:
    """Whether a Host header, with or without a port, is one of them."""
    known = frozenset(name.lower().rstrip(".") for name in (*names, "localhost", socket.gethostname()))

    def is_known(host: str) -> bool:
        parts = _HOST.fullmatch(host)
        if parts is None:
            return False
        bracketed, name = parts.groups("")
        return name.lower().removesuffix(".") in known or _is_address(bracketed or name)

    return is_known


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
