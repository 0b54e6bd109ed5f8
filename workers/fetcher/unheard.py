"""Failures of connections that nobody waits for any more."""

import asyncio
from typing import Any, Final

_CLOSED: Final = "the handler is closed"
"""uvloop's words for a connection that is not there any more."""


def pass_over_late_failures(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An exception handler; without it any server could fill the log.

    A request whose time is over stops waiting for its connection; if that fails at the same moment, its future is left with an error that
    the request has no use for. And a connection that was hung up on may still have something to read, and TLS something to say to it.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and "future" in context and "task" not in context:
        return
    if isinstance(error, RuntimeError) and "transport" in context and _CLOSED in str(error):
        return
    loop.default_exception_handler(context)
