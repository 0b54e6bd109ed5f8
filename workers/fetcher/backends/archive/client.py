"""The backend ``archive``: requests are answered from a web that is there already, recorded or made up, as if it were the network.

Status, headers, redirects and robots.txt are as recorded; what is not there is a 404 that says so. Bodies are decoded and cut by the same
caps as those of the network. No socket is made and no name looked up.
"""

import asyncio
import logging
import time
from pathlib import Path
from typing import Final, Protocol

from msgspec.structs import replace

from gregor.config.rules import GENERATED
from gregor.config.sections import EmulateSection
from gregor.offline.generated import GeneratedWeb, shape_of
from gregor.offline.link import EmulatedLink
from gregor.rules.media_types import type_wanted
from gregor.runtime.unforeseen import tell_unforeseen
from gregor.url.canonical import CanonicalRules, UrlRefusal, split
from schemas.fetched import Outcome
from workers.fetcher.backends.archive.recorded import Recorded, recorded
from workers.fetcher.backends.archive.warc_file import Unreadable, record_at
from workers.fetcher.backends.archive.web_index import WebIndex
from workers.fetcher.backends.backend import BackendOptions, Exchange, FetchBackend, FetchRequest
from workers.fetcher.body import NO_BODY, Body, BodyReader, TooDense
from workers.fetcher.outcome import outcome_of
from workers.fetcher.skip_request import SkipRequest

_log: Final = logging.getLogger("gregor.fetcher")

HEADERS_TOGETHER: Final = 4
_PIECE: Final = 64 * 1024


class OfflineWeb(Protocol):
    """What is answered from."""

    def answer(self, scheme: str, server: str, path: str) -> Recorded | None: ...


class ArchivedWeb:
    """WARC files."""

    def __init__(self, web: Path, rules: CanonicalRules) -> None:
        self._rules = rules
        self._index = WebIndex(web, rules)

    def answer(self, scheme: str, server: str, path: str) -> Recorded | None:
        found = self._recorded(scheme, server, path)
        if found is None or not found.refers_to:
            return found
        url = split(found.refers_to, self._rules)
        body = None if isinstance(url, UrlRefusal) else self._recorded(url.scheme, url.server, url.path)
        if body is None or body.refers_to:
            return None
        return replace(found, coding=body.coding, body=body.body, wire_bytes=body.wire_bytes, truncated=body.truncated)

    def _recorded(self, scheme: str, server: str, path: str) -> Recorded | None:
        place = self._index.place(scheme, server, path)
        if place is None:
            return None
        try:
            found = recorded(record_at(place.file, place.offset))
        except (Unreadable, OSError) as error:
            _log.warning("an archive is damaged: %s (%s)", place.file, error)
            return None
        if found is None:
            return None
        url = split(found.target, self._rules)
        # Two URLs of one hash, or an index of another file by this name.
        same = not isinstance(url, UrlRefusal) and (url.scheme, url.server, url.path) == (scheme, server, path)
        return found if same else None


class MadeUpWeb:
    """Pages from their numbers."""

    def __init__(self, web: GeneratedWeb) -> None:
        self._web = web

    def answer(self, scheme: str, server: str, path: str) -> Recorded | None:
        body = self._web.answer(server, path) if scheme == "http" else None
        if body is None:
            return None
        headers = (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body))))
        return Recorded(status=200, reason="OK", headers=headers, body=body, wire_bytes=len(body), target=path)


class ArchiveFetch:
    """Requests of one event loop."""

    def __init__(self, options: BackendOptions) -> None:
        self._options = options
        self._web: OfflineWeb | None = None
        emulate = options.emulate
        self._link = EmulatedLink(emulate.bandwidth, emulate.latency_ms, emulate.jitter, emulate.seed)

    async def open(self) -> None:
        self._web = web_of(self._options.emulate, self._options.rules)

    async def close(self) -> None: ...

    def address_of(self, server: str) -> str:
        return ""

    async def fetch(self, request: FetchRequest) -> Exchange:
        asked = _Asked(request)
        try:
            if request.before_send is not None:
                await request.before_send()
            asked.send()
            async with asyncio.timeout(request.caps.total_s):
                return await self._answered(asked)
        except SkipRequest:
            raise
        except TimeoutError:
            return asked.ended("timeout", f"the time for {asked.phase} was over")
        except TooDense as error:
            return asked.ended("protocol", str(error))
        except Exception as error:
            tell_unforeseen(_log, "a request failed inside of gregor", request.server, error)
            return asked.ended("internal", str(error) or type(error).__name__)

    async def _answered(self, asked: "_Asked") -> Exchange:
        request, caps = asked.request, asked.request.caps
        assert self._web is not None
        url = f"{request.scheme}://{request.server}{request.path}"
        found = self._web.answer(request.scheme, request.server, request.path)
        async with asyncio.timeout(caps.first_byte_s):
            await self._link.delay(url)
        asked.answer(found)
        if found is None:
            detail = f"not in {self._options.emulate.web}"
            text = f"gregor: {url} is {detail}\n".encode()
            return asked.ended("client-error", detail, Body(text[: caps.body_bytes], len(text)))
        if objection := _objection(found, request):
            return asked.ended("protocol", objection)
        if found.status == 200 and not type_wanted(asked.named.get("content-type", ""), caps.types):
            return asked.ended("type-refused", f"the type {asked.named['content-type'][:100]!r} is not wanted")
        reader = BodyReader(found.coding, caps)
        body = await reader.read(_Bytes(found.body))
        await self._link.carry(found.wire_bytes)
        outcome, detail = reader.judged(outcome_of(found.status, "retry-after" in asked.named))
        truncated = body.truncated or found.truncated
        return asked.ended(outcome, detail, Body(body.data, found.wire_bytes, truncated, body.undecoded))


class _Asked:
    """One request while it is answered."""

    def __init__(self, request: FetchRequest) -> None:
        self.request = request
        self.phase = "the first byte"
        self.named: dict[str, str] = {}
        self._started = time.monotonic()
        self._started_ms = time.time_ns() // 1_000_000
        self._sent_at = self._answered_at = 0.0
        self._found: Recorded | None = None

    def send(self) -> None:
        self._sent_at = time.monotonic()

    def answer(self, found: Recorded | None) -> None:
        self.phase = "the whole response"
        self._answered_at = time.monotonic()
        self._found = found or _NOT_THERE
        for name, value in self._found.headers:
            self.named.setdefault(name.lower(), value)

    def ended(self, outcome: Outcome, detail: str = "", body: Body = NO_BODY) -> Exchange:
        found = self._found
        return Exchange(
            outcome=outcome,
            detail=detail,
            status=found.status if found is not None else 0,
            reason=found.reason if found is not None else "",
            protocol=found.protocol if found is not None else "HTTP/1.1",
            started_ms=self._started_ms,
            first_byte_ms=self._until(self._answered_at),
            total_ms=self._until(time.monotonic()),
            sent_at=self._sent_at,
            answered_at=self._answered_at,
            wire_bytes=body.wire_bytes,
            body=body.data,
            undecoded=body.undecoded,
            truncated=body.truncated,
            request_headers=self.request.told_headers,
            response_headers=found.headers if found is not None else (),
            named=self.named,
        )

    def _until(self, moment: float) -> int:
        return max(0, round((moment - self._started) * 1000)) if moment else 0


class _Bytes:
    """A body that is all there, as a stream."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def at_eof(self) -> bool:
        return self._at >= len(self._data)

    async def readany(self) -> bytes:
        piece = self._data[self._at : self._at + _PIECE]
        self._at += len(piece)
        return piece


_NOT_THERE: Final = Recorded(
    status=404,
    reason="Not in the archive",
    headers=(("Content-Type", "text/plain; charset=utf-8"),),
    body=b"",
    wire_bytes=0,
    target="",
)


def _objection(found: Recorded, request: FetchRequest) -> str:
    """What is wrong with the head of an answer; empty: nothing."""
    caps = request.caps
    if not 200 <= found.status <= 599:
        return f"status {found.status}"
    if len(found.headers) > caps.headers:
        return f"{len(found.headers)} headers"
    sizes = [len(name) + len(value) for name, value in found.headers]
    if max(sizes, default=0) > caps.header_bytes or sum(sizes) > HEADERS_TOGETHER * caps.header_bytes:
        return f"headers of {sum(sizes)} bytes together"
    return ""


def web_of(emulate: EmulateSection, rules: CanonicalRules) -> OfflineWeb:
    """Raises UsageError when there is nothing to answer from."""
    if emulate.web.startswith(GENERATED):
        return MadeUpWeb(GeneratedWeb(shape_of(emulate.web.removeprefix(GENERATED))))
    return ArchivedWeb(Path(emulate.web), rules)


def make(options: BackendOptions) -> FetchBackend:
    return ArchiveFetch(options)
