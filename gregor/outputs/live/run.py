"""The views worker as a process: opens the page, folds the crawl, and ends in order when it is asked to."""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import uvloop
from aiohttp import web
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

from gregor.config import Config
from gregor.errors import EXIT_ENVIRONMENT, BrokerUnreachable, GregorError
from gregor.operate.crawl_handle import KafkaHandle
from gregor.outputs.live.queries import LiveQueries
from gregor.outputs.live.server import application
from streams.live.app import CONTROL, Folding

_log: Final = logging.getLogger("gregor.outputs.folds")

_TALKATIVE: Final = ("faust", "mode", "aiokafka", "streams.live")
"""Loggers of Faust and what is under it, which tell of every step."""
GOODBYE_S: Final = 2.0
"""For requests that are being answered when it ends."""


def run_views(config: Config, folder: Path, on_listening: Callable[[str], None]) -> None:
    """Until SIGTERM, SIGINT or `gregor stop`. ``folder`` may hold a frontier's state, for explain; ``on_listening`` gets the address."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(config, folder, on_listening))


async def _run(config: Config, folder: Path, on_listening: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _asked_to_stop, stop)
    async with AsyncExitStack() as closing:
        often = await asyncio.to_thread(KafkaHandle, config, folder)
        closing.push_async_callback(asyncio.to_thread, often.close)
        seldom = await asyncio.to_thread(KafkaHandle, config, folder)
        closing.push_async_callback(asyncio.to_thread, seldom.close)
        heeds_from = (await asyncio.to_thread(often.reader.ends, CONTROL))[0][1]
        folding = Folding(config, heeds_from, lambda: _told_to_stop(stop))
        await listen(closing, config, LiveQueries(config, folding, often, seldom), on_listening)
        try:
            await folding.start()
            closing.push_async_callback(folding.stop)
            await _until(stop, folding)
        except KafkaError as error:
            raise BrokerUnreachable(f"the views cannot read from {config.kafka.bootstrap} any more: {error}") from error


async def listen(
    closing: AsyncExitStack, config: Config, queries: LiveQueries, on_listening: Callable[[str], None]
) -> None:
    runner = web.AppRunner(
        application(queries, (config.views.host, *config.views.names)), access_log=None, shutdown_timeout=GOODBYE_S
    )
    await runner.setup()
    closing.push_async_callback(runner.cleanup)
    try:
        await web.TCPSite(runner, config.views.host, config.views.port).start()
    except OSError as error:
        raise GregorError(
            f"expected a free port for the views, found {config.views.host}:{config.views.port} refused ({error.strerror})",
            exit_code=EXIT_ENVIRONMENT,
            remedy="set views.host and views.port; port 0 is any that is free",
        ) from error
    host, port = runner.addresses[0][:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    _log.info("the views answer at %s", address)
    on_listening(address)


async def _until(stop: asyncio.Event, folding: Folding) -> None:
    """Asked to stop, or the fold ended, which it never does by itself."""
    waits = [asyncio.create_task(stop.wait()), asyncio.create_task(folding.ended())]
    done, others = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    for task in done:
        await task


def _asked_to_stop(stop: asyncio.Event) -> None:
    _log.info("stopping the views")
    stop.set()


def _told_to_stop(stop: asyncio.Event) -> None:
    _log.info("the whole crawl is to stop: leaving")
    stop.set()
