"""The least that a crawler in Python does: fetch, parse, join, a set. One process, no storage, no politeness, nothing durable.

Run: python -m bench.crawling.bare URL...
"""

import asyncio
import os
import sys
from typing import Final

import aiohttp
import uvloop
from ada_url import URL, join_url
from selectolax.lexbor import LexborHTMLParser

CONNECTIONS: Final = 32


async def crawl(starts: list[str]) -> None:
    origins = tuple({URL(start).origin for start in starts})
    follow = os.environ.get("GREGOR_CRAWL__FOLLOW_LINKS") != "false"
    seen = set(starts)
    queue: asyncio.Queue[str] = asyncio.Queue()
    for start in starts:
        queue.put_nowait(start)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS)) as session:

        async def work() -> None:
            while True:
                url = await queue.get()
                async with session.get(url) as response:
                    body = await response.read()
                    html = response.content_type == "text/html" and response.status == 200
                for href in _hrefs(body) if html else ():
                    target = _join(href, url)
                    if target is not None and follow and target.startswith(origins) and target not in seen:
                        seen.add(target)
                        queue.put_nowait(target)
                queue.task_done()

        workers = [asyncio.create_task(work()) for _ in range(CONNECTIONS)]
        await queue.join()
        for worker in workers:
            worker.cancel()


def _hrefs(body: bytes) -> set[str]:
    """Without repetitions and fragments, before anything is joined."""
    try:
        return _found(body)
    except UnicodeDecodeError:
        # Not all pages of the web are in UTF-8.
        return _found(body.decode("latin-1").encode())


def _found(body: bytes) -> set[str]:
    found = (node.attributes.get("href") for node in LexborHTMLParser(body).css("a[href]"))
    return {href.partition("#")[0] for href in found if href}


def _join(href: str, base: str) -> str | None:
    try:
        return join_url(base, href)
    except ValueError:
        return None


if __name__ == "__main__":
    uvloop.run(crawl(sys.argv[1:]))
