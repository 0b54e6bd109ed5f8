"""The web server of the views: the page, its JSON below ``/api/``, ``/healthz``. It only reads, and answers GET alone.

Names, URLs and reasons in the answers are what strangers wrote: they are JSON, the page shows them as text, and its policy lets
nothing run or load but its own files. A request must come by an address or a known name (gregor/runtime/known_hosts.py).
"""

from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any, Final, cast, get_args

import msgspec
from aiohttp import web

from gregor.errors import GregorError
from gregor.outputs.live.answers import MOST_SERVERS, SORTED_BY, ServerQuestion, Span
from gregor.outputs.live.queries import LiveQueries
from gregor.runtime.known_hosts import known_hosts

LONGEST_URL: Final = 4096
_PAGE: Final[Mapping[str, tuple[str, str, str]]] = {
    "/": ("gregor.outputs.live", "page.html", "text/html"),
    "/report.css": ("gregor.outputs.report", "report.css", "text/css"),
    "/live.css": ("gregor.outputs.live", "live.css", "text/css"),
    **{
        f"/{name}.js": ("gregor.outputs.live", f"{name}.js", "text/javascript")
        for name in ("live", "figures", "chart", "story")
    },
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "gregor",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Refused(Exception):
    """A question that cannot be answered as it was asked; the text says what was expected."""


def application(queries: LiveQueries, names: tuple[str, ...]) -> web.Application:
    """``names``: by which it may be asked for, besides addresses, localhost and the machine's name."""
    is_known = known_hosts(names)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_known(request.host):
            answer: web.StreamResponse = _error(403, "expected a request by an address or a name in views.names")
        else:
            answer = await _answered(request, handler)
        answer.headers.update(_HEADERS)
        return answer

    app = web.Application(middlewares=[guard])
    routes = _Routes(queries)
    for path, file in _PAGE.items():
        app.router.add_get(path, _file(*file))
    for path, handler in routes.table.items():
        app.router.add_get(path, handler)
    return app


class _Routes:
    def __init__(self, queries: LiveQueries) -> None:
        self._queries = queries
        self.table: Final[Mapping[str, Handler]] = {
            "/healthz": self._health,
            "/api/summary": self._summary,
            "/api/status": self._status,
            "/api/rates": self._rates,
            "/api/servers": self._servers,
            "/api/refusals": self._refusals,
            "/api/explain": self._explain,
        }

    async def _health(self, request: web.Request) -> web.Response:
        well = self._queries.well
        return _json({"well": well}, 200 if well else 503)

    async def _summary(self, request: web.Request) -> web.Response:
        return _json(await self._queries.summary())

    async def _status(self, request: web.Request) -> web.Response:
        return _json(await self._queries.status())

    async def _rates(self, request: web.Request) -> web.Response:
        span = _choice(request, "span", get_args(Span), "5m")
        return _json(await self._queries.rates(cast(Span, span)))

    async def _servers(self, request: web.Request) -> web.Response:
        asked = ServerQuestion(
            sort=_choice(request, "sort", tuple(SORTED_BY), "requests"),
            descending=_choice(request, "order", ("desc", "asc"), "desc") == "desc",
            offset=_number(request, "offset", 0, 10**9, 0),
            limit=_number(request, "limit", 1, MOST_SERVERS, 50),
            find=request.query.get("find", "")[:255],
        )
        return _json(await self._queries.servers(asked))

    async def _refusals(self, request: web.Request) -> web.Response:
        return _json(await self._queries.refusals())

    async def _explain(self, request: web.Request) -> web.Response:
        url = request.query.get("url", "").strip()
        if not 0 < len(url) <= LONGEST_URL:
            raise _Refused(f"expected ?url= with 1 to {LONGEST_URL} characters, found {len(url)}")
        return _json(await self._queries.explain(url))


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except _Refused as refused:
        return _error(400, str(refused))
    except GregorError as error:
        return _error(503, str(error))
    except web.HTTPException as error:
        return _error(error.status, error.reason)


def _file(package: str, name: str, kind: str) -> Handler:
    body = files(package).joinpath(name).read_bytes()

    async def serve(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type=kind, charset="utf-8")

    return serve


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


def _error(status: int, what: str) -> web.Response:
    return _json({"error": what}, status)


def _choice(request: web.Request, name: str, known: tuple[str, ...], default: str) -> str:
    value = request.query.get(name, default)
    if value not in known:
        raise _Refused(f"expected {name} to be one of {', '.join(known)}, found {value[:80]!r}")
    return value


def _number(request: web.Request, name: str, least: int, most: int, default: int) -> int:
    value = request.query.get(name, str(default))
    if not (value.isascii() and value.isdigit() and len(value) < 12 and least <= int(value) <= most):
        raise _Refused(f"expected {name} to be a number from {least} to {most}, found {value[:80]!r}")
    return int(value)
