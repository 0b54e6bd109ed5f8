"""What the fetcher writes of an order."""

from __future__ import annotations

from gregor.runtime.loops.contract import Ticket
from gregor.url.fingerprint import HashPlacement
from schemas.codec import LARGEST_RECORD
from schemas.fetched import FetchResult, decode_fetched
from schemas.schedule import FetchOrder
from workers.fetcher.records import OrderOrigin, fetched_of


def results(urls: int) -> tuple[FetchResult, ...]:
    return tuple(
        FetchResult(
            path=f"/{number}",
            outcome="redirect",
            status=302,
            etag="e" * 512,
            location=f"/{number}" + "l" * 2000,
            cookies="c" * 4096,
        )
        for number in range(urls)
    )


def test_the_results_go_where_the_order_says_and_by_the_hash_of_the_server_where_it_says_nothing() -> None:
    placement = HashPlacement(4096, 64)
    home = placement.partition("a.example")

    def partition(named: int) -> int:
        order = FetchOrder(server="a.example", lease="0-1", partition=named, urls=())
        return fetched_of(OrderOrigin(order, Ticket(0, 0), "worker", 0), (), placement, 0).partition

    assert [partition(-1), partition(0), partition(home + 1)] == [home, 0, home + 1]


def test_the_results_of_an_order_fit_into_a_record_whatever_its_server_sends() -> None:
    origin = OrderOrigin(FetchOrder(server="a.example", lease="0-1", urls=()), Ticket(0, 0), "worker", 0)
    few, many = (fetched_of(origin, results(urls), HashPlacement(4096, 2), 0) for urls in (16, 1000))
    assert decode_fetched(few.value).results == results(16)
    assert len(many.value) <= LARGEST_RECORD
    found = decode_fetched(many.value).results
    assert [(one.path, one.outcome, one.etag) for one in found] == [
        (one.path, one.outcome, one.etag) for one in results(1000)
    ]
    assert {one.location + one.cookies for one in found} == {""}
