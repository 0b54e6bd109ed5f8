"""A page in headless Chromium that a test looks at and acts on, by the browser's own debugging protocol."""

import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.chaos.processes import PATIENCE_S
from tests.outputs.report.browser import REPOSITORY


class Page:
    """One page; ``complaints`` is what the browser said of it: script errors, and what its policy refused."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._sent = 0
        self.complaints: list[str] = []

    async def ask(self, method: str, **parameters: Any) -> Any:
        self._sent += 1
        await self._socket.send_json({"id": self._sent, "method": method, "params": parameters})
        while True:
            heard = await self._socket.receive_json()
            if heard.get("id") == self._sent:
                assert "error" not in heard, heard
                return heard["result"]
            self._note(heard)

    async def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        answer = await self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, condition: str) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while not await self.run(f"Boolean({condition})"):
            assert time.monotonic() < give_up, f"waited in vain until {condition}; {self.complaints}"
            await self.run("new Promise((done) => setTimeout(done, 50))")

    def _note(self, heard: dict[str, Any]) -> None:
        if heard.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.complaints.append(str(heard["params"]))
        elif heard.get("method") == "Log.entryAdded":
            self.complaints.append(str(heard["params"]["entry"]))


@contextmanager
def chromium(home: Path) -> Iterator[int]:
    """The port at which it is driven. It has no way to anywhere but loopback."""
    subprocess.run([REPOSITORY / "infra" / "need.sh", "chromium"], check=True, capture_output=True)
    command = [
        "chromium",
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={home}",
        "--remote-debugging-port=0",
        "about:blank",
    ]
    with (home.parent / "chromium.log").open("wb") as log:
        browser = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield _port(home / "DevToolsActivePort", browser)
    finally:
        browser.terminate()
        browser.wait()


@asynccontextmanager
async def opened(address: str, port: int) -> AsyncIterator[Page]:
    """A page in the browser that is driven at the port."""
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            target = next(one for one in await answer.json() if one["type"] == "page")
        async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            page = Page(socket)
            await page.ask("Page.navigate", url="about:blank")
            for part in ("Page", "Runtime", "Log"):
                await page.ask(f"{part}.enable")
            await page.ask("Page.navigate", url=address)
            await page.until("location.protocol === 'http:' && document.readyState === 'complete'")
            yield page


def _port(file: Path, browser: "subprocess.Popen[bytes]") -> int:
    give_up = time.monotonic() + PATIENCE_S
    while not file.is_file() or not file.read_text().strip():
        assert browser.poll() is None, "Chromium did not start"
        assert time.monotonic() < give_up, "waited in vain for Chromium"
        time.sleep(0.05)
    return int(file.read_text().split()[0])
