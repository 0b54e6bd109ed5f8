"""From exchanges to records: the result of each URL, the page of each response, the one ``fetched`` record of an order."""

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128_hexdigest

from gregor.runtime.loops.contract import Ticket
from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import Placement
from schemas.codec import LARGEST_RECORD, encode
from schemas.fetched import Fetched, FetchResult, Outcome, RobotsRules, Timings
from schemas.pages import PageFacts
from schemas.schedule import FetchOrder, OrderUrl
from workers.fetcher.backends.backend import Exchange, Scheme
from workers.fetcher.cookies import cookies_of
from workers.fetcher.outcome import retry_after_ms

LONGEST_LOCATION: Final = 2048
LONGEST_VALIDATOR: Final = 512
LONGEST_TYPE: Final = 256
LONGEST_DETAIL: Final = 500

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class OrderOrigin(Struct, frozen=True):
    """Who carried out which order when."""

    order: FetchOrder
    ticket: Ticket
    worker: str
    received_ms: int


def result_of(
    url: OrderUrl, exchange: Exchange, digest: str, finished_ms: int, detail: str = "", text: str = ""
) -> FetchResult:
    """What ``fetched`` says of one URL; ``text`` is the digest of its text where that is wanted."""
    retry_after = exchange.header("retry-after")
    return FetchResult(
        path=url.path,
        scheme=url.scheme,
        outcome=exchange.outcome,
        status=exchange.status,
        started_ms=exchange.started_ms,
        timings=Timings(
            dns=exchange.dns_ms,
            connect=exchange.connect_ms,
            first_byte=exchange.first_byte_ms,
            total=exchange.total_ms,
        ),
        address=exchange.address,
        wire_bytes=exchange.wire_bytes,
        body_bytes=len(exchange.body),
        truncated=exchange.truncated,
        digest=digest,
        text_digest=text,
        previous_digest=url.digest,
        content_type=exchange.header("content-type")[:LONGEST_TYPE],
        etag=_validator(exchange.header("etag")),
        last_modified=_validator(exchange.header("last-modified")),
        location=exchange.header("location")[:LONGEST_LOCATION],
        cookies=cookies_of(exchange.response_headers, url.scheme) if exchange.outcome == "redirect" else "",
        retry_after_ms=retry_after_ms(retry_after, finished_ms) if retry_after else 0,
        detail=_detail(detail or exchange.detail),
        depth=url.depth,
        visit=url.visit,
    )


def unrequested(url: OrderUrl, outcome: Outcome, detail: str, again_ms: int = 0) -> FetchResult:
    """The result of a URL for which no request was made."""
    return FetchResult(
        path=url.path,
        scheme=url.scheme,
        outcome=outcome,
        retry_after_ms=again_ms,
        detail=_detail(detail),
        previous_digest=url.digest,
        depth=url.depth,
        visit=url.visit,
    )


def page_of(
    origin: OrderOrigin,
    url: OrderUrl,
    exchange: Exchange,
    digest: str,
    placement: Placement,
    at: tuple[Scheme, str, str] | None = None,
) -> Output:
    """The ``pages`` record of a response; ``at`` is where it came from when that is not the URL ordered (robots redirects)."""
    order = origin.order
    scheme, server, path = at or (url.scheme, order.server, url.path)
    facts = PageFacts(
        server=server,
        path=path,
        scheme=scheme,
        lease=order.lease,
        status=exchange.status,
        kind=order.kind,
        robots_of=order.server if at is not None and at != (url.scheme, order.server, url.path) else "",
        fetched_ms=exchange.started_ms,
        address=exchange.address,
        protocol=exchange.protocol,
        request_headers=exchange.request_headers,
        response_headers=exchange.response_headers,
        reason=exchange.reason,
        wire_bytes=exchange.wire_bytes,
        body_bytes=len(exchange.body),
        undecoded=exchange.undecoded,
        truncated=exchange.truncated,
        digest=digest,
        previous_digest=url.digest,
        previous_ms=url.previous_ms,
        depth=url.depth,
        hops=url.hops,
        off_site=url.off_site,
        redirects=url.redirects,
        seed=url.seed,
        visit=url.visit,
        attempt=order.attempt,
    )
    return Output("pages", placement.partition(server), server.encode(), exchange.body, encode(facts))


def fetched_of(
    origin: OrderOrigin,
    results: tuple[FetchResult, ...],
    placement: Placement,
    finished_ms: int,
    robots: tuple[RobotsRules, ...] = (),
) -> Output:
    """The ``fetched`` record of an order."""
    order, ticket = origin.order, origin.ticket
    record = Fetched(
        server=order.server,
        lease=order.lease,
        results=results,
        kind=order.kind,
        attempt=order.attempt,
        worker=origin.worker,
        schedule_partition=ticket.partition,
        schedule_offset=ticket.offset,
        received_ms=origin.received_ms,
        started_ms=min((one.started_ms for one in results if one.started_ms), default=0),
        finished_ms=finished_ms,
        busy_ms=sum(one.timings.total for one in results),
        robots=robots,
    )
    value = encode(record)
    if len(value) > LARGEST_RECORD:
        value = encode(replace(record, results=tuple([_shortened(one) for one in results])))
    partition = order.partition if order.partition >= 0 else placement.partition(order.server)
    return Output("fetched", partition, order.server.encode(), value)


def _shortened(result: FetchResult) -> FetchResult:
    """Without what its URL can do without: the headers of a thousand responses may be more than a record holds."""
    return replace(result, content_type="", location="", cookies="", detail="")


def digest_of(exchange: Exchange) -> str:
    """Of the body as it is kept; empty when there was none to read."""
    if not exchange.body and exchange.outcome not in ("ok", "client-error", "server-error"):
        return ""
    return xxh3_128_hexdigest(exchange.body)


def _validator(value: str) -> str:
    """A validator that can be sent back; one that was cut or holds control characters cannot."""
    return value if value and len(value) <= LONGEST_VALIDATOR and not _CONTROL.search(value) else ""


def _detail(text: str) -> str:
    return _LONE_SURROGATE.sub("?", _CONTROL.sub(" ", text[:LONGEST_DETAIL])) if text else ""
