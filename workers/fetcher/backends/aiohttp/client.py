"""The fetch backend over aiohttp: HTTP/1.1, kept-alive connections, every phase within its caps.

aiohttp's connector (names, sockets, TLS, the pool) and its response parser are used without its client session, which would follow
redirects, keep cookies, read the environment and repeat requests by itself, and costs as much as all the rest.

The guard stands where sockets are made (``_socket``), which the connector reaches for names and for IP literals alike, and once more
where a request is about to leave (``_admit``), on the peer that the connection really has.
"""

import asyncio
import socket
import ssl
import time
from collections import OrderedDict
from functools import lru_cache, partial
from typing import Final

from aiohttp import ClientRequest, ClientSession, ClientTimeout, ServerDisconnectedError, StreamReader, TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.http import RawResponseMessage
from yarl import URL

from gregor.rules.media_types import type_wanted
from gregor.runtime.resolver import CachingResolver, TimedResolver
from gregor.url.literal import literal_in
from workers.fetcher.addresses import AddressRefused
from workers.fetcher.backends.aiohttp.attempt import BODY, FIRST_BYTE, Attempt, current_attempt
from workers.fetcher.backends.aiohttp.failure import failure_of, timeout_of
from workers.fetcher.backends.aiohttp.handler import HEADERS_TOGETHER, OneAnswerHandler
from workers.fetcher.backends.backend import BackendOptions, Exchange, FetchBackend, FetchRequest
from workers.fetcher.body import BodyReader
from workers.fetcher.outcome import outcome_of
from workers.fetcher.skip_request import SkipRequest

KEEP_ALIVE_S: Final = 30.0
LONGEST_KNOWN_NAME: Final = 64
"""Bytes of a header's name that is remembered: names come from strangers."""

_NO_TIMEOUT: Final = ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class AiohttpFetch:
    """Requests of one event loop."""

    def __init__(self, options: BackendOptions) -> None:
        self._options = options
        self._guard = options.guard
        self._connections = options.connections
        self._resolver: CachingResolver | None = None
        self._connector: TCPConnector | None = None
        self._session: ClientSession | None = None
        self._target = lru_cache(maxsize=1024)(self._make_target)
        self._idle: OrderedDict[ResponseHandler, None] = OrderedDict()
        """Least recently used first."""
        self._busy = 0

    async def open(self) -> None:
        options = self._options
        self._resolver = CachingResolver(options.name_servers, shortest_s=options.shortest_answer_s)
        self._connector = TCPConnector(
            limit=0,
            use_dns_cache=False,
            resolver=TimedResolver(self._resolver, _note_lookup),
            ssl=options.tls or ssl.create_default_context(),
            keepalive_timeout=KEEP_ALIVE_S,
            socket_factory=self._socket,
        )
        handler: type[ResponseHandler] = OneAnswerHandler
        self._connector._factory = partial(handler, loop=asyncio.get_running_loop())
        # It makes no request; requests, which tell the connector where to connect, cannot be made without one.
        self._session = ClientSession(connector=self._connector, connector_owner=False)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        if self._connector is not None:
            await self._connector.close()
        if self._resolver is not None:
            await self._resolver.close()

    def address_of(self, server: str) -> str:
        return literal_in(server) or (
            self._resolver.peek(server.partition(":")[0]) if self._resolver is not None else ""
        )

    async def fetch(self, request: FetchRequest) -> Exchange:
        attempt = Attempt(request)
        self._busy += 1
        try:
            return await self._exchange(request, attempt)
        except asyncio.CancelledError:
            # Ours when the timer did it and nobody else wants the task to end.
            if not attempt.timed_out or attempt.uncancelled() > 0:
                raise
            return timeout_of(attempt)
        except SkipRequest:
            raise
        except Exception as error:
            return failure_of(error, attempt)
        finally:
            self._busy -= 1
            protocol = attempt.protocol
            if protocol is not None and attempt.complete and protocol.is_connected():
                self._idle[protocol] = None
            attempt.close()

    async def _exchange(self, request: FetchRequest, attempt: Attempt) -> Exchange:
        assert self._connector is not None
        current_attempt.set(attempt)
        target = self._target(request.scheme, request.server)
        connection = await self._connector.connect(target, traces=[], timeout=_NO_TIMEOUT)
        attempt.connect(connection.transport)
        try:
            protocol = self._admit(attempt, connection)
            if request.before_send is not None:
                await attempt.wait(request.before_send)
            message, stream = await self._ask(request, attempt, protocol)
            exchange = await self._read(request, attempt, message, stream)
            attempt.complete = stream.is_eof() and not protocol.should_close
            return exchange
        finally:
            if attempt.complete:
                connection.release()
            else:
                connection.close()

    async def _ask(
        self, request: FetchRequest, attempt: Attempt, protocol: OneAnswerHandler
    ) -> tuple[RawResponseMessage, StreamReader]:
        """Send the request and wait for the headers of the answer."""
        caps = request.caps
        protocol.expect(caps)
        headers = request.sent_headers
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        attempt.request_headers = request.told_headers if request.hidden else headers
        attempt.sent_at = now = time.monotonic()
        attempt.enter(FIRST_BYTE, now, caps.first_byte_s)
        if protocol.transport is None:
            raise ServerDisconnectedError
        protocol.transport.write(f"GET {request.path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
        message, stream = await protocol.read()
        attempt.answered_at = now = time.monotonic()
        attempt.enter(BODY, now, caps.total_s)
        return message, stream

    async def _read(
        self, request: FetchRequest, attempt: Attempt, message: RawResponseMessage, stream: StreamReader
    ) -> Exchange:
        caps = request.caps
        attempt.status = message.code
        attempt.reason = message.reason.encode("utf-8", "surrogateescape").decode("latin-1")
        attempt.version = f"HTTP/{message.version.major}.{message.version.minor}"
        if not 200 <= message.code <= 599:
            return attempt.ended("protocol", f"status {message.code}")
        size = 0
        headers: list[tuple[str, str]] = []
        named = attempt.named
        for raw_name, raw_value in message.raw_headers:
            size += len(raw_name) + len(raw_value)
            name, lower = _known_name(raw_name) if len(raw_name) <= LONGEST_KNOWN_NAME else _name(raw_name)
            value = raw_value.decode("latin-1")
            headers.append((name, value))
            if lower not in named:
                named[lower] = value
        if size > HEADERS_TOGETHER * caps.header_bytes:
            named.clear()
            return attempt.ended("protocol", f"headers of {size} bytes together")
        attempt.response_headers = tuple(headers)
        if message.code == 200 and not type_wanted(named.get("content-type", ""), caps.types):
            return attempt.ended("type-refused", f"the type {named['content-type'][:100]!r} is not wanted")
        encoding = named.get("content-encoding", "")
        attempt.reader = BodyReader(encoding, caps)
        body = await attempt.reader.read(stream)
        outcome, detail = attempt.reader.judged(outcome_of(message.code, "retry-after" in named))
        return attempt.ended(outcome, detail, body)

    def _make_target(self, scheme: str, server: str) -> ClientRequest:
        """What the connector wants to know of a server; never sent."""
        assert self._session is not None
        url = URL(f"{scheme}://{server}/", encoded=True)
        return ClientRequest("GET", url, loop=asyncio.get_running_loop(), session=self._session)

    def _socket(self, where: AddrInfoType) -> socket.socket:
        """The one place where sockets for requests are made."""
        family, kind, protocol, _, address = where
        attempt = current_attempt.get()
        objection = self._guard.objection(str(address[0]))
        if objection is not None:
            attempt.refused = objection
            raise AddressRefused(objection)
        while self._idle and self._busy + len(self._idle) > self._connections:
            self._idle.popitem(last=False)[0].close()
        made = socket.socket(family, kind, protocol)
        attempt.sockets.append(made)
        return made

    def _admit(self, attempt: Attempt, connection: Connection) -> OneAnswerHandler:
        """A connection is about to carry the request: judge its peer, and that nobody spoke out of turn on it."""
        protocol = connection.protocol
        assert isinstance(protocol, OneAnswerHandler)
        self._idle.pop(protocol, None)
        peer = protocol.peer
        if not peer:
            name = protocol.transport.get_extra_info("peername") if protocol.transport is not None else None
            peer = str(name[0]) if name else ""
            objection = self._guard.objection(peer)
            if objection is not None:
                attempt.refused = objection
                raise AddressRefused(objection)
            protocol.peer = peer
        else:
            attempt.reused = True
            if protocol.should_close:
                # What came while nothing was asked must not be taken for the answer.
                raise ServerDisconnectedError("the idle connection said something unasked for")
        attempt.address = peer
        attempt.protocol = protocol
        return protocol


def make(options: BackendOptions) -> FetchBackend:
    return AiohttpFetch(options)


def _name(raw: bytes) -> tuple[str, str]:
    """A header's name as it came, and in lower case."""
    name = raw.decode("latin-1")
    return name, name.lower()


_known_name: Final = lru_cache(maxsize=4096)(_name)


def _note_lookup(seconds: float) -> None:
    current_attempt.get().dns_ms = round(seconds * 1000)
