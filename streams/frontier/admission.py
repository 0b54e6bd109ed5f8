"""Admission: what of a batch of discoveries enters the queue.

Counted exactly: discovered = admitted + duplicates + the sum of all refused_<reason>. Limits of depth, hops and redirects and the scope
are judged before uniqueness, because the same URL may come again by a shorter way. Traps and budgets are judged for new URLs only, and
what they refuse is known from then on.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from gregor.url.canonical import Url, split
from gregor.url.domain import registered_domain
from schemas.discovered import Discovered
from streams.frontier import hasten, promotion, traps
from streams.frontier.arrivals import Arrivals, gather
from streams.frontier.books import Books
from streams.frontier.entry import Scheme, head_of
from streams.frontier.scope import widens
from streams.frontier.server import IN_SCOPE, LiveServer
from streams.frontier.uniqueness.facts import UrlState
from streams.frontier.uniqueness.keys import Order

LONGEST_SERVER: Final = 300
WITHOUT_LINKS: Final = frozenset(("seed", "redirect", "requisite", "repetition"))
"""Kinds that are taken although no links are followed: they lead to a seed, or belong to one."""


def admit(books: Books, batch: Sequence[Discovered], now_ms: int) -> int:
    """Decide a batch; gives how many URLs were decided."""
    decided = sum([len(found.paths) for found in batch])
    books.count("discovered", decided)
    accepted = [found for found in batch if found.paths and not _refused(books, found, now_ms)]
    if not accepted:
        return decided
    arrivals = gather(accepted, books.priority)
    checked, known_before = promotion.check(books, arrivals)
    new = np.flatnonzero(checked.new)
    books.count("duplicates", len(checked.new) - len(new))
    if len(new):
        _admit_new(books, arrivals, new, now_ms)
    if known_before is not None and len(checked.improved):
        promotion.promote(books, arrivals, checked.improved, known_before, now_ms)
    if books.config.revisit.mode != "off":
        hasten.by_sitemaps(books, arrivals, checked.new, now_ms)
    return decided


def refuse(books: Books, found: Discovered, reason: str, detail: str) -> int:
    """Refuse a whole record, whatever it holds; gives how many URLs were decided."""
    books.count("discovered", len(found.paths))
    if found.paths:
        _turn_away(books, found, reason, detail)
    return len(found.paths)


def _refused(books: Books, found: Discovered, now_ms: int) -> bool:
    """Whether a whole record is refused; if so, it is counted."""
    reason = _reason(books, found, now_ms)
    if reason:
        _turn_away(books, found, reason, found.referrer)
    return bool(reason)


def _turn_away(books: Books, found: Discovered, reason: str, detail: str) -> None:
    books.count(f"refused_{reason}", len(found.paths))
    url = f"{found.scheme}://{found.server[:LONGEST_SERVER]}{found.paths[0][:500]}"
    books.verdicts.note(found.server[:LONGEST_SERVER], "refused", reason, url, len(found.paths), detail)


def _reason(books: Books, found: Discovered, now_ms: int) -> str:
    config = books.config
    server = found.server
    if not server or len(server) > LONGEST_SERVER or "\0" in server:
        return "invalid"
    if not config.crawl.follow_links and found.kind not in WITHOUT_LINKS:
        return "not-followed"
    deepest = config.for_server(server).max_depth
    if deepest and found.depth > deepest:
        return "depth"
    if config.crawl.max_hops and found.hops > config.crawl.max_hops:
        return "hops"
    if config.frontier.max_off_site and found.off_site > config.frontier.max_off_site:
        return "off-site"
    if found.redirects > config.frontier.max_redirects:
        return "redirects"
    if books.in_scope(server) or found.kind == "requisite":
        return ""
    live = books.servers.open(server.encode())
    if live.record.flags & IN_SCOPE:
        return ""
    if not widens(found):
        return "scope"
    books.servers.touch(live)
    live.record.flags |= IN_SCOPE
    if found.kind == "redirect":
        url = f"{found.scheme}://{server}{found.paths[0][:500]}"
        books.verdicts.note(server, "delayed", "scope-widened", url, 1, f"redirected from {found.referrer}")
    return ""


def _admit_new(books: Books, arrivals: Arrivals, new: Order, now_ms: int) -> None:
    """Enqueue new URLs, record by record; ``new`` are their indexes, ascending."""
    owners = np.searchsorted(arrivals.bounds, new, side="right") - 1
    begins = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1]))).tolist()
    numbers = owners[begins].tolist()
    indexes = new.tolist()
    books.servers.prefetch(dict.fromkeys([arrivals.servers[number] for number in numbers]))
    turned_away: list[int] = []
    for number, at, end in zip(numbers, begins, [*begins[1:], len(indexes)], strict=True):
        live = books.servers.open(arrivals.servers[number])
        books.servers.touch(live)
        turned_away += _admit_record(books, live, arrivals, number, indexes[at:end], now_ms)
        books.servers.place(live, now_ms)
    if turned_away:
        books.engine.move(arrivals.hashes[turned_away], arrivals.fingerprints[turned_away], UrlState.REFUSED)


def _admit_record(
    books: Books, live: LiveServer, arrivals: Arrivals, number: int, new: list[int], now_ms: int
) -> list[int]:
    """Enqueue the new URLs of one record; gives the indexes of those that were refused."""
    record = live.record
    found = arrivals.records[number]
    wanted, refused = _sift(books, live, found, arrivals.bounds[number], new)
    if not wanted:
        return refused
    if not record.queued:
        record.since_ms = now_ms
    record.next_ms = record.next_ms or now_ms
    encoded, prints = arrivals.encoded, arrivals.print_bytes
    priority = arrivals.common_priority(number)
    if priority is None:
        entries = {}
        for index in wanted:
            own = arrivals.priority_of(number, index)
            place = books.place_prefix(found.depth, own) + prints[8 * index : 8 * index + 8]
            entries[place] = head_of(found, own) + encoded[index]
    else:
        prefix, head = books.place_prefix(found.depth, priority), head_of(found, priority)
        entries = {prefix + prints[8 * index : 8 * index + 8]: head + encoded[index] for index in wanted}
    live.added.update(entries)
    first = min(entries)
    if not record.head or first < record.head:
        record.head = first
    if not record.admitted:
        books.count_server()
    record.queued += len(wanted)
    record.admitted += len(wanted)
    books.count("admitted", len(wanted))
    books.count("queued", len(wanted))
    return refused


def _sift(books: Books, live: LiveServer, found: Discovered, first: int, new: list[int]) -> tuple[list[int], list[int]]:
    """Which of a record's new URLs are wanted, and which are a trap or beyond the budget."""
    record, settings, paths = live.record, books.config.traps, found.paths
    budget = books.config.for_server(found.server).budget
    longest, slashes = settings.max_path_length, settings.repeated_segments or settings.max_path_length
    suspicious = [
        index
        for index in new
        if len(path := paths[index - first]) > longest or path.count("/") > slashes or "?" in path or path[:1] != "/"
    ]
    strange = not record.next_ms and not is_server(found.server, found.scheme)
    if not suspicious and not budget and not record.directories and not strange:
        return new, []
    domain = registered_domain(found.server) if books.config.partitions.partition_by == "domain" else ""
    room = _room(books, record.admitted, budget, domain)
    wanted: list[int] = []
    refused: list[int] = []
    for index in new:
        path = paths[index - first]
        reason = "invalid" if strange else traps.reason(settings, record, path)
        if not reason and len(wanted) >= room:
            reason = "budget"
        if reason:
            refused.append(index)
            books.count(f"refused_{reason}")
            books.verdicts.note(found.server, "refused", reason, f"{found.scheme}://{found.server}{path[:1000]}")
        else:
            wanted.append(index)
    if domain and budget:
        books.domain_admits(domain, len(wanted))
    return wanted, refused


def is_server(server: str, scheme: Scheme) -> bool:
    """Whether the server is spelt as our own URLs spell it: a record may come from anybody, and parsers stumble over less."""
    url = split(f"{scheme}://{server}/")
    return isinstance(url, Url) and url.server == server and url.path == "/"


def _room(books: Books, admitted: int, budget: int, domain: str) -> int:
    if not budget:
        return 1 << 62
    return max(0, budget - (books.domain_admitted(domain) if domain else admitted))
