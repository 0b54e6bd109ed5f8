"""Confirmation: the results of an order end its lease, and decide for each of its URLs and for its server how they go on."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gregor.url.canonical import UrlRefusal, join
from gregor.url.headers import from_header
from schemas.fetched import Fetched, FetchResult
from schemas.schedule import OrderKind
from streams.frontier.admit import traps
from streams.frontier.dispatch import robots
from streams.frontier.dispatch.leases import LONGEST_WAIT_MS, Lease
from streams.frontier.dispatch.politeness import delay_of, next_request_ms, response_ms
from streams.frontier.partition_state import PartitionState
from streams.frontier.settle import retries
from streams.frontier.settle.lifecycle import drop, settle
from streams.frontier.settle.retries import Fate, fate_of
from streams.frontier.settle.revisit import next_visit
from streams.frontier.settle.timers import RETRY, VISIT, Visit, Waiting
from streams.frontier.storage.queue import Entry
from streams.frontier.storage.queue_codec import attempts_of, extra_of, with_attempts, with_extra
from streams.frontier.storage.server import LiveServer
from streams.frontier.storage.uniqueness.facts import UrlState

HOUR_MS: Final = 3600 * 1000
LONGEST_COOKIES: Final = 4096
"""Characters of cookies that are kept for a retry."""


def confirm(state: PartitionState, fetched: Fetched, now_ms: int) -> int:
    """Take in one order's results; gives how many URLs were decided. Without its lease a result is late or repeated."""
    lease = state.leases.get(fetched.lease)
    if lease is None or lease.server != fetched.server.encode():
        state.count("results_ignored")
        return 0
    live = state.servers.open(lease.server)
    state.servers.touch(live)
    live.record.in_flight -= lease.weight
    _note_wait(state, lease, fetched)
    took = response_ms(fetched)
    if took is not None:
        live.record.response_ms = min(max(took, 0), HOUR_MS)
    if lease.kind == "robots":
        # Before the server is judged: a Crawl-delay holds from the request for robots.txt on.
        robots.learn(state.config, live, fetched, lease.schemes, now_ms)
    _judge_server(state, live, lease.kind, fetched, now_ms, answered=took is not None)
    if lease.kind == "pages":
        _confirm_urls(state, live, lease, fetched, now_ms)
    state.leases.end(live, lease)
    state.servers.place(live, now_ms)
    return max(1, len(lease.entries))


def _note_wait(state: PartitionState, lease: Lease, fetched: Fetched) -> None:
    """How long orders wait for a fetcher: a moving average, for the deadlines of the next ones."""
    began = fetched.started_ms or fetched.received_ms
    if began:
        waited = min(max(0, began - lease.created_ms), LONGEST_WAIT_MS)
        state.facts.wait_ms += (waited - state.facts.wait_ms) // 8


def _judge_server(
    state: PartitionState, live: LiveServer, kind: OrderKind, fetched: Fetched, now_ms: int, *, answered: bool
) -> None:
    """What the order says of its server: when it may be asked again, whether it is given up."""
    record, settings = live.record, state.config.retry
    delay = delay_of(state.config.for_server(live.text), record)
    record.next_ms = max(record.next_ms, next_request_ms(fetched, delay, now_ms))
    if retries.server_failed(fetched):
        record.failures = record.failures + 1 if retries.in_vain(fetched) else 1
        backoff = retries.wait_ms(settings, record.failures, live.name, retries.asked_ms(*fetched.results))
        record.next_ms = max(record.next_ms, now_ms + backoff)
        if not answered and record.failures >= settings.server_attempts and kind == "pages":
            record.dead_until_ms = now_ms + int(settings.dead_hours * HOUR_MS)
            record.next_ms, record.failures = now_ms, 0
            state.count("servers_given_up")
    elif answered:
        record.failures = 0
    record.since_ms = record.next_ms


def _confirm_urls(state: PartitionState, live: LiveServer, lease: Lease, fetched: Fetched, now_ms: int) -> None:
    state.count("leased", -len(lease.entries))
    schemes, paths = state.leases.urls(lease)
    results = fetched.results
    in_order = [one.path for one in results] == paths and [one.scheme for one in results] == schemes
    if in_order and {one.outcome for one in results} == {"ok"} and state.config.revisit.mode == "off":
        confirmed = [place for place, _ in lease.entries]
    else:
        by_url: dict[tuple[str, str], FetchResult] = {(one.scheme, one.path): one for one in results}
        matched = [by_url.get(url) for url in zip(schemes, paths, strict=True)]
        confirmed = _confirm_each(state, live, lease, matched, now_ms)
    if state.config.traps.identical_pages:
        # A page that is what it was says nothing of its directory.
        again = {
            url
            for url, (_, value) in zip(zip(schemes, paths, strict=True), lease.entries, strict=True)
            if extra_of(value).visit
        }
        pages = [one for one in results if one.outcome == "ok" and one.digest and (one.scheme, one.path) not in again]
        traps.note_pages(live.record, [one.path for one in pages], [one.digest for one in pages])
    if confirmed:
        state.count("confirmed", len(confirmed))
        settle(state, live, confirmed, UrlState.FETCHED)


def _confirm_each(
    state: PartitionState, live: LiveServer, lease: Lease, results: Sequence[FetchResult | None], now_ms: int
) -> list[bytes]:
    """Decide for each URL by itself; gives the places of those that are confirmed."""
    confirmed: list[bytes] = []
    failed: dict[str, list[Entry]] = {}
    for entry, result in zip(lease.entries, results, strict=True):
        fate = fate_of(state.config.retry, result, attempts_of(entry[1]))
        if fate is Fate.CONFIRMED and result is not None:
            if result.outcome == "redirect" and _leads_to_itself(state, live, result):
                if not extra_of(entry[1]).looped:
                    _repeat(state, live, entry, result, now_ms)
                    continue
                state.count("redirects_to_self")
                url = f"{result.scheme}://{live.text}{result.path}"
                state.verdicts.note(live.text, "failed", "redirect-to-self", url)
            confirmed.append(entry[0])
            if state.config.revisit.mode != "off":
                _revisit_later(state, live, entry, result, now_ms)
        elif fate is Fate.FAILED and result is not None:
            failed.setdefault(result.outcome, []).append(entry)
        else:
            asked = retries.asked_ms(result) if result is not None else 0
            _go_on(state, live, entry, fate, now_ms, asked)
    for outcome, entries in failed.items():
        drop(state, live, entries, "failed", outcome)
    return confirmed


def _go_on(state: PartitionState, live: LiveServer, entry: Entry, fate: Fate, now_ms: int, asked_ms: int) -> None:
    """A URL whose life is not over. ``asked_ms``: how long its server wants to be left alone, 0 if it does not say."""
    place, value = entry
    if fate is Fate.LATER:
        _retry_later(state, live, entry, now_ms)
    elif fate is Fate.BEHIND:
        _retry_later(state, live, entry, max(now_ms, live.record.next_ms), asked_ms)
    elif fate is Fate.AGAIN:
        state.enqueue(live, place, with_attempts(value, attempts_of(value) + 1), now_ms)
        state.count("retried")
    else:
        state.enqueue(live, place, value, now_ms)
        state.count("returned")


def _retry_later(state: PartitionState, live: LiveServer, entry: Entry, after_ms: int, asked_ms: int = 0) -> None:
    place, value = entry
    attempts = attempts_of(value) + 1
    due = after_ms + retries.wait_ms(state.config.retry, attempts, place, asked_ms)
    state.timers.put(live, due, Waiting(RETRY, live.name, place, with_attempts(value, attempts)))
    state.count("retrying")
    state.count("retried")


def _revisit_later(state: PartitionState, live: LiveServer, entry: Entry, result: FetchResult, now_ms: int) -> None:
    place, value = entry
    extra = next_visit(state.config.revisit, result, extra_of(value))
    if extra is None:
        state.count("gone")
        return
    waiting = Waiting(VISIT, live.name, place, with_extra(with_attempts(value, 0), extra))
    state.timers.put_visit(live, waiting, Visit(now_ms + extra.interval_s * 1000, now_ms))
    state.count("revisiting")


def _leads_to_itself(state: PartitionState, live: LiveServer, result: FetchResult) -> bool:
    """Whether a redirect's target is, as a link, the same URL: the extractor's link to it is known and leads nowhere."""
    if not result.location:
        return False
    url = f"{result.scheme}://{live.text}{result.path}"
    target = join(url, from_header(result.location), state.canonical_rules)
    return not isinstance(target, UrlRefusal) and target.text == url


def _repeat(state: PartitionState, live: LiveServer, entry: Entry, result: FetchResult, now_ms: int) -> None:
    """Ask once more, with the cookies that the redirect brought: what a page behind a cookie wall waits for."""
    place, value = entry
    cookies = result.cookies if len(result.cookies) <= LONGEST_COOKIES else ""
    state.enqueue(live, place, with_extra(value, replace(extra_of(value), looped=True, cookies=cookies)), now_ms)
    state.count("retried")
