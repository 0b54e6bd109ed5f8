"""The fetch port over aiohttp: HTTP/1.1, kept-alive connections, every phase within its caps.

The guard stands where sockets are made (``_socket``), which aiohttp reaches for names and for IP literals alike, and once more where a
request is about to leave (``_GuardedRequest.send``), on the peer that the connection really has. Proxies, redirects, cookies and the
environment are left out of it.
"""

import asyncio
import socket
import ssl
import time
from collections import OrderedDict
from typing import Final
from weakref import WeakKeyDictionary

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType, Connection
from yarl import URL

from workers.fetcher.addresses import AddressGuard, AddressRefused
from workers.fetcher.attempt import Attempt, GuardedRequest, current_attempt
from workers.fetcher.body import BodyReader
from workers.fetcher.failure import failure_of
from workers.fetcher.outcome import outcome_of, type_wanted
from workers.fetcher.port import Exchange, Headers, Request
from workers.fetcher.resolver import CachingResolver
from workers.fetcher.withheld import Refrain

KEEP_ALIVE_S: Final = 30.0
HEADERS_TOGETHER: Final = 4
"""All headers of a response together may be this many times as long as one."""

_NO_TIMEOUT: Final = ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class AiohttpFetch:
    """Requests of one event loop. Sockets that are open, busy and idle together, stay within ``connections``."""

    def __init__(
        self,
        guard: AddressGuard,
        connections: int,
        *,
        resolver: CachingResolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = guard
        self._connections = connections
        self._resolver = resolver
        self._tls = tls
        self._session: ClientSession | None = None
        self._peers: WeakKeyDictionary[ResponseHandler, str] = WeakKeyDictionary()
        self._idle: OrderedDict[ResponseHandler, None] = OrderedDict()
        """Least recently used first."""
        self._busy = 0

    async def open(self) -> None:
        if self._resolver is None:
            self._resolver = CachingResolver()
        connector = TCPConnector(
            limit=0,
            use_dns_cache=False,
            resolver=_TimedResolver(self._resolver),
            ssl=self._tls or ssl.create_default_context(),
            keepalive_timeout=KEEP_ALIVE_S,
            socket_factory=self._socket,
        )
        self._session = ClientSession(
            connector=connector,
            request_class=GuardedRequest,
            cookie_jar=DummyCookieJar(),
            timeout=_NO_TIMEOUT,
            auto_decompress=False,
            trust_env=False,
        )
        # aiohttp repeats a request at once when a connection was closed under it; repeating is the order's business, after its delay.
        self._session._retry_connection = False

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        if self._resolver is not None:
            await self._resolver.close()

    def address_of(self, server: str) -> str:
        return self._resolver.peek(server.rpartition(":")[0] or server) if self._resolver is not None else ""

    async def fetch(self, request: Request) -> Exchange:
        attempt = Attempt(request, self._connected)
        current_attempt.set(attempt)
        self._busy += 1
        if self._busy + len(self._idle) > self._connections and self._idle:
            self._idle.popitem(last=False)[0].close()
        try:
            async with asyncio.timeout(request.caps.connect_s) as attempt.timeout:
                return await self._exchange(request, attempt)
        except Refrain:
            raise
        except Exception as error:
            return failure_of(error, attempt)
        finally:
            self._busy -= 1
            protocol = attempt.protocol
            if protocol is not None and protocol.is_connected() and not protocol.should_close:
                self._idle[protocol] = None

    async def _exchange(self, request: Request, attempt: Attempt) -> Exchange:
        assert self._session is not None
        caps = request.caps
        url = URL(f"{request.scheme}://{request.server}{request.path}", encoded=True)
        response = await self._session.request(
            "GET",
            url,
            headers=request.headers,
            allow_redirects=False,
            max_line_size=caps.header_bytes,
            max_field_size=caps.header_bytes,
            max_headers=caps.headers,
        )
        try:
            attempt.answered(response)
            return await self._read(request, attempt, response)
        finally:
            # Gives the connection back when the body was read to its end, and closes it otherwise.
            response.close()

    async def _read(self, request: Request, attempt: Attempt, response: ClientResponse) -> Exchange:
        caps = request.caps
        headers = _as_sent(response)
        if sum(len(name) + len(value) for name, value in headers) > HEADERS_TOGETHER * caps.header_bytes:
            return attempt.ended(
                "protocol", f"headers are longer than {HEADERS_TOGETHER * caps.header_bytes} bytes together"
            )
        attempt.response_headers = headers
        named = {name.lower(): value for name, value in reversed(headers)}
        if not 200 <= response.status <= 599:
            return attempt.ended("protocol", f"status {response.status}")
        if not type_wanted(named.get("content-type", ""), caps.types) and response.status == 200:
            return attempt.ended("type-refused", f"type {named['content-type'][:100]!r} is not in fetch.types")
        attempt.reader = BodyReader(named.get("content-encoding", ""), caps)
        body = await attempt.reader.read(response.content)
        detail = "the body ended before its content coding did" if attempt.reader.ended_early else ""
        return attempt.ended(outcome_of(response.status, "retry-after" in named), detail, body)

    def _socket(self, where: AddrInfoType) -> socket.socket:
        """The one place where sockets for requests are made."""
        family, kind, protocol, _, address = where
        objection = self._guard.objection(str(address[0]))
        if objection is not None:
            current_attempt.get().refused = objection
            raise AddressRefused(objection)
        current_attempt.get().sockets += 1
        return socket.socket(family, kind, protocol)

    def _connected(self, attempt: Attempt, connection: Connection) -> None:
        """Called when a connection is about to carry the request."""
        protocol = connection.protocol
        assert protocol is not None
        peer = self._peers.get(protocol)
        attempt.reused = peer is not None
        if peer is None:
            transport = protocol.transport
            name = transport.get_extra_info("peername") if transport is not None else None
            peer = str(name[0]) if name else ""
            objection = self._guard.objection(peer)
            if objection is not None:
                attempt.refused = objection
                raise AddressRefused(objection)
            self._peers[protocol] = peer
        self._idle.pop(protocol, None)
        attempt.address = peer
        attempt.protocol = protocol


class _TimedResolver(AbstractResolver):
    """Notes how long the running request waited for its address."""

    def __init__(self, resolver: CachingResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        begun = time.monotonic()
        try:
            return await self._resolver.resolve(host, port, family)
        finally:
            current_attempt.get().dns_ms = round((time.monotonic() - begun) * 1000)

    async def close(self) -> None:
        """The resolver belongs to whoever made it."""


def _as_sent(response: ClientResponse) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers)
