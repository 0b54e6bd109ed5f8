"""Serves kaskade to browsers: `python serve.py KASKADE BOOTSTRAP HOST PORT`. Runs in kaskade's environment and imports nothing of gregor.

Beyond what textual-serve does by itself: a WebSocket from a page of somebody else is refused, since it could drive kaskade in the name
of whoever opened that page; the page loads no font from elsewhere; and the kaskade of an open page ends with the server.
"""

import os
import re
import shlex
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import textual_serve.server  # type: ignore[import-not-found]
from aiohttp import web

INDEX = "app_index.html"


class UiServer(textual_serve.server.Server):  # type: ignore[misc]
    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.middlewares.append(self._guard())
        return app

    def _guard(self) -> Callable[..., Awaitable[web.StreamResponse]]:
        own = self.public_url.removeprefix("http://")

        @web.middleware
        async def guard(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            if request.host != own or request.headers.get("Origin", self.public_url) != self.public_url:
                raise web.HTTPForbidden(text="expected a request from the page at its own address")
            return await handler(request)

        return guard


def without_strangers(templates: Path, folder: Path) -> None:
    """The page's template without what it would load from elsewhere."""
    page = (templates / INDEX).read_text(encoding="utf-8")
    (folder / INDEX).write_text(re.sub(r"<link[^>]*https?://[^>]*>", "", page), encoding="utf-8")


def main(kaskade: str, bootstrap: str, host: str, port: int) -> None:
    command = shlex.join([kaskade, "admin", "--bootstrap-servers", bootstrap])
    with tempfile.TemporaryDirectory() as folder:
        without_strangers(Path(textual_serve.server.__file__).parent / "templates", Path(folder))
        try:
            UiServer(command, host, port, title="Kafka", templates_path=folder).serve()
        finally:
            if os.getpgrp() == os.getpid():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.killpg(os.getpgrp(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
