"""Waiting in a fetcher that may be asked to leave meanwhile."""

import asyncio
from contextlib import suppress
from typing import Final

SHORT_S: Final = 1.0
"""A wait that nobody who leaves minds."""


async def sleep(seconds: float, leaving: asyncio.Event) -> None:
    """For so long, or until no request will be made any more."""
    if seconds < SHORT_S:
        await asyncio.sleep(seconds)
    else:
        with suppress(TimeoutError):
            await asyncio.wait_for(leaving.wait(), seconds)
