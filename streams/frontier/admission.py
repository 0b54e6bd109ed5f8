"""Admission: what of a batch of discoveries enters the queue.

Counted exactly: discovered = admitted + duplicates + the sum of all refused_<reason>. Limits of depth, hops and redirects and the scope
are judged before uniqueness, because the same URL may come again by a shorter way. Traps and budgets are judged for new URLs only, and
what they refuse is known from then on.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from gregor.url.domain import registered_domain
from schemas.discovered import Discovered
from streams.frontier import hasten, promotion, traps
from streams.frontier.arrivals import Arrivals, gather
from streams.frontier.books import Books
from streams.frontier.entry import head_of
from streams.frontier.scope import widens
from streams.frontier.server import IN_SCOPE, LiveServer
from streams.frontier.uniqueness.facts import UrlState

LONGEST_SERVER: Final = 300


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
        _admit_new(books, arrivals, new.tolist(), now_ms)
    if known_before is not None and len(checked.improved):
        promotion.promote(books, arrivals, checked.improved, known_before, now_ms)
    if books.config.revisit.mode != "off":
        hasten.by_sitemaps(books, arrivals, checked.new, now_ms)
    return decided


def _refused(books: Books, found: Discovered, now_ms: int) -> bool:
    """Whether a whole record is refused; if so, it is counted."""
    reason = _reason(books, found, now_ms)
    if reason:
        books.count(f"refused_{reason}", len(found.paths))
        url = f"{found.scheme}://{found.server[:LONGEST_SERVER]}{found.paths[0][:500]}"
        books.verdicts.note(found.server[:LONGEST_SERVER], "refused", reason, url, len(found.paths), found.referrer)
    return bool(reason)


def _reason(books: Books, found: Discovered, now_ms: int) -> str:
    config = books.config
    server = found.server
    if not server or len(server) > LONGEST_SERVER or "\0" in server:
        return "invalid"
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


def _admit_new(books: Books, arrivals: Arrivals, new: list[int], now_ms: int) -> None:
    """Enqueue new URLs, server by server; ``new`` are their indexes, ascending."""
    books.servers.prefetch(dict.fromkeys(arrivals.servers[arrivals.owner(index)] for index in new))
    turned_away: list[int] = []
    at = 0
    while at < len(new):
        number = arrivals.owner(new[at])
        last = arrivals.bounds[number + 1]
        end = at + 1
        while end < len(new) and new[end] < last:
            end += 1
        live = books.servers.open(arrivals.servers[number])
        books.servers.touch(live)
        turned_away += _admit_record(books, live, arrivals, number, new[at:end], now_ms)
        books.servers.place(live, now_ms)
        at = end
    if turned_away:
        books.engine.move(arrivals.hashes[turned_away], arrivals.fingerprints[turned_away], UrlState.REFUSED)


def _admit_record(
    books: Books, live: LiveServer, arrivals: Arrivals, number: int, new: list[int], now_ms: int
) -> list[int]:
    """Enqueue the new URLs of one record; gives the indexes of those that were refused."""
    config, record = books.config, live.record
    found = arrivals.records[number]
    first = arrivals.bounds[number]
    paths, encoded, prints = found.paths, arrivals.encoded, arrivals.print_bytes
    settings = config.traps
    budget = config.for_server(found.server).budget
    domain = registered_domain(found.server) if config.partitions.partition_by == "domain" else ""
    room = _room(books, record.admitted, budget, domain)
    if record.next_ms == 0:
        record.next_ms = now_ms
    if not record.queued:
        record.since_ms = now_ms
    prefixes: dict[int, tuple[bytes, bytes]] = {}
    added = live.added
    refused: list[int] = []
    count = 0
    for index in new:
        path = paths[index - first]
        reason = traps.path_reason(settings, path)
        if not reason and "?" in path and traps.too_many_variants(settings, record, path):
            reason = "query-variants"
        if not reason and record.directories and traps.directory_closed(settings, record, path):
            reason = "identical-pages"
        if not reason and count >= room:
            reason = "budget"
        if reason:
            refused.append(index)
            _turn_away(books, found, path, reason)
            continue
        priority = arrivals.priority_of(number, index)
        pair = prefixes.get(priority)
        if pair is None:
            pair = prefixes[priority] = (books.place_prefix(found.depth, priority), head_of(found, priority))
        place = pair[0] + prints[8 * index : 8 * index + 8]
        added[place] = pair[1] + encoded[index]
        if place < record.head or not record.head:
            record.head = place
        count += 1
    record.queued += count
    record.admitted += count
    if domain and budget:
        books.domain_admits(domain, count)
    books.count("admitted", count)
    books.count("queued", count)
    return refused


def _room(books: Books, admitted: int, budget: int, domain: str) -> int:
    if not budget:
        return 1 << 62
    return max(0, budget - (books.domain_admitted(domain) if domain else admitted))


def _turn_away(books: Books, found: Discovered, path: str, reason: str) -> None:
    books.count(f"refused_{reason}")
    books.verdicts.note(found.server, "refused", reason, f"{found.scheme}://{found.server}{path[:1000]}")
