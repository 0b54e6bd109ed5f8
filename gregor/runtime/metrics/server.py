"""The worker's own web server, in a thread: `/metrics` for Prometheus, `/healthz` for whoever restarts workers that hang."""

import logging
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.runtime.known_hosts import known_hosts

_log: Final = logging.getLogger("gregor.runtime.metrics")

CLIENT_TIMEOUT_S: Final = 10.0
_STRANGER: Final = b"expected a request by an address or a name in metrics.names\n"


class Health(Struct, frozen=True):
    """``state`` is for people: at work, restoring, held back, silent."""

    healthy: bool
    state: str
    silent_s: float


class MetricsServer:
    """Listens from its making on; ``close`` ends it."""

    def __init__(
        self,
        host: str,
        port: int,
        registry: CollectorRegistry,
        health: Callable[[], Health],
        names: Sequence[str] = (),
    ) -> None:
        """``names``: by which it may be asked for, besides addresses, localhost and the machine's name."""

        class Handler(_Handler):
            pass

        Handler.registry, Handler.health = registry, staticmethod(health)
        Handler.is_known = staticmethod(known_hosts((host, *names)))
        try:
            self._server = _Server((host, port), Handler)
        except OSError as error:
            raise GregorError(
                f"expected to listen for metrics at {host}:{port}, found: {error.strerror}",
                remedy="set metrics.port to a free port, or to 0 for none",
                exit_code=EXIT_ENVIRONMENT,
            ) from error
        self.port: Final = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        _log.debug("a client of the metrics went away", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    registry: CollectorRegistry
    health: Callable[[], Health]
    is_known: Callable[[str], bool]
    timeout = CLIENT_TIMEOUT_S
    server_version = "gregor"
    sys_version = ""

    def do_GET(self) -> None:
        # None at all is what a balancer's check sends, and no browser.
        known = all(map(self.is_known, self.headers.get_all("Host", [])))
        match self.path.partition("?")[0]:
            case _ if not known:
                self._answer(HTTPStatus.FORBIDDEN, "text/plain", _STRANGER)
            case "/metrics":
                encode, content_type = choose_encoder(self.headers.get("Accept", ""))
                self._answer(HTTPStatus.OK, content_type, encode(self.registry))
            case "/healthz":
                health = self.health()
                status = HTTPStatus.OK if health.healthy else HTTPStatus.SERVICE_UNAVAILABLE
                self._answer(status, "application/json", msgspec.json.encode(health) + b"\n")
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"expected /metrics or /healthz\n")

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Every scrape would be a line in the worker's log."""
