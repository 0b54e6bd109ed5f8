"""What headless Chromium makes of bytes, queries and pages in the charsets of the Encoding Standard."""

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web
from msgspec import Struct

from tests.outputs.live.browser import Page, chromium, opened

T = TypeVar("T")

_NAME_OF = "(label) => { try { return new TextDecoder(label).encoding } catch { return 'replacement' } }"
# A decoder that is used twice carries an error over to the next text: one for each.
_TEXTS_OF = """(encoding, ends) => ends.flatMap(length => {
    const texts = [];
    for (let number = 0; number < 256 ** length; number++) {
        const bytes = length == 1 ? [number] : [number >> 8, number & 255];
        texts.push(new TextDecoder(encoding, {ignoreBOM: true}).decode(new Uint8Array(bytes)));
    }
    return texts;
})"""
_FRAME = """(address) => new Promise(done => {
    const frame = document.createElement("iframe");
    frame.onload = () => done(frame);
    frame.src = address;
    document.body.append(frame);
})"""
_PAGE = f"""(address) => ({_FRAME})(address).then(frame => {{
    const page = frame.contentDocument;
    const seen = {{charset: page.characterSet.toLowerCase(), links: [...page.links].map(link => link.href)}};
    frame.remove();
    return seen;
}})"""
_QUERIES = f"""(address, first, last) => ({_FRAME})(address).then(frame => {{
    const anchor = frame.contentDocument.createElement("a");
    const found = [];
    for (let code = first; code <= last; code++) {{
        anchor.setAttribute("href", "?" + String.fromCodePoint(code));
        found.push(anchor.search);
    }}
    frame.remove();
    return found;
}})"""


class Crafted(Struct, frozen=True):
    """A response for a browser and for us."""

    content_type: str
    body: bytes


class Seen(Struct, frozen=True):
    """A page as the browser read it."""

    charset: str
    links: list[str]


class Browser:
    """Asks Chromium, which has loaded a page from a server of pages."""

    def __init__(self, page: Page, address: str, served: list[Crafted]) -> None:
        self._page = page
        self._served = served
        self.address = address

    async def name_of(self, label: str) -> str:
        """The name of the encoding that a label means."""
        return str(await self._page.run(f"({_NAME_OF})({json.dumps(label)})"))

    async def texts_of(self, encoding: str, lengths: Sequence[int]) -> list[str]:
        """Of all sequences of one byte, of two bytes, or both, each on its own."""
        found: list[str] = await self._page.run(f"({_TEXTS_OF})({json.dumps(encoding)}, {list(lengths)})")
        return found

    async def see(self, crafted: Crafted) -> Seen:
        found: Any = await self._page.run(f"({_PAGE})({self._put(crafted)})")
        return Seen(found["charset"], found["links"])

    async def queries(self, encoding: str, first: int, last: int) -> list[str]:
        """Of links in a page of that charset to "?" and one character, for all characters from the first to the last."""
        at = self._put(Crafted(f"text/html; charset={encoding}", b"<p>x"))
        found: list[str] = await self._page.run(f"({_QUERIES})({at}, {first}, {last})")
        return found

    def _put(self, crafted: Crafted) -> str:
        self._served.append(crafted)
        return json.dumps(f"/{len(self._served) - 1}")


async def ask_browser(home: Path, questions: Callable[[Browser], Awaitable[T]]) -> T:
    """What the questions find out."""
    served = [Crafted("text/html; charset=utf-8", b"<p>x")]

    async def answer(request: web.Request) -> web.Response:
        page = served[int(request.path[1:] or 0)]
        return web.Response(body=page.body, headers={"Content-Type": page.content_type})

    site = web.Application()
    site.router.add_get("/{number:[0-9]*}", answer)
    runner = web.AppRunner(site)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        with chromium(home) as port:
            async with opened(address, port) as page:
                return await questions(Browser(page, address, served))
    finally:
        await runner.cleanup()
