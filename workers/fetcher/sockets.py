"""Whose a socket's number is once the socket was handed to uvloop.

uvloop closes the number itself and makes the socket forget it, with one gap: a server that resets before the first word of the handshake
lets it close the number before it has taken hold of the socket. The socket would close its number again when it is collected, and by then
that may be the number of another connection, or of a file of the crawl.
"""

import socket
from collections.abc import Sequence


def let_go(made: Sequence[socket.socket], kept: int = -1) -> None:
    """No connection came of these sockets, in the order in which they were made, but of the last one with the number ``kept``: what is not
    closed yet is uvloop's to close."""
    for one in reversed(made):
        if one.fileno() == kept:
            kept = -1
        else:
            one.detach()
