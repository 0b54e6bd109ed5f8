"""No server is asked before its time: the requests to each, in the order of time, are as far apart as their orders said."""

from collections.abc import Iterable
from datetime import UTC, datetime

from gregor.inspect.audit.entries import HASH, LEASE, REQUESTS, TIME, lease_text, request
from gregor.inspect.audit.finding import Check, Finding
from gregor.runtime.state.external_sort import Entry, ExternalSort


def check_politeness(sorter: ExternalSort, tolerance_ms: int) -> Finding:
    """``tolerance_ms``: by how much clocks of fetchers differ, and whole milliseconds round."""
    check = Check("politeness", "no server was asked before its time")
    for _, entries in sorter.groups(REQUESTS, HASH):
        _check_server(check, entries, tolerance_ms)
    return check.finding()


def _check_server(check: Check, entries: Iterable[Entry], tolerance_ms: int) -> None:
    before: tuple[int, bytes] | None = None
    for key, value in entries:
        (started,) = TIME.unpack(key[: TIME.size])
        lease = key[TIME.size : TIME.size + LEASE]
        one = request(value)
        if before is not None and one.connections == 1:
            apart = started - before[0]
            check.require(
                apart >= one.delay_ms - tolerance_ms,
                f"{one.server} was asked at {_moment(started)} by order {lease_text(lease)}, {apart} ms after order "
                f"{lease_text(before[1])} had asked it; the delay was {one.delay_ms} ms",
            )
        before = started, lease


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
