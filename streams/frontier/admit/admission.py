"""Admission: what of a batch of discoveries enters the queue.

Counted exactly: discovered = admitted + duplicates + the sum of all refused_<reason>. Limits of depth, hops and redirects and the scope
are judged before uniqueness, because the same URL may come again by a shorter way. Traps and budgets are judged for new URLs only, and
what they refuse is known from then on.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from gregor.rules.answer import ALLOWED, UrlAnswer
from gregor.rules.canonical import FOREIGN_SERVER
from gregor.rules.scope import SERVER, widens
from gregor.url.canonical import is_canonical_server
from gregor.url.domain import registered_domain
from schemas.discovered import Discovered
from streams.frontier.admit import promotion, sitemap_lastmod, traps
from streams.frontier.admit.discovery_batch import DiscoveryBatch, gather
from streams.frontier.partition_state import PartitionState
from streams.frontier.storage.queue_codec import head_of
from streams.frontier.storage.server import IN_SCOPE, LiveServer
from streams.frontier.storage.uniqueness.facts import UrlState
from streams.frontier.storage.uniqueness.keys import Order

LONGEST_SERVER: Final = 300


def admit(state: PartitionState, batch: Sequence[Discovered], now_ms: int) -> int:
    """Decide a batch; gives how many URLs were decided."""
    decided = sum([len(found.paths) for found in batch])
    state.count("discovered", decided)
    decide(state, batch, now_ms)
    return decided


def decide(state: PartitionState, batch: Sequence[Discovered], now_ms: int) -> None:
    """The same for what counts as discovered already."""
    accepted = [found for found in batch if found.paths and not _refused(state, found)]
    if not accepted:
        return
    discoveries = gather(accepted, state.priority)
    checked, known_before = promotion.check(state, discoveries)
    new = np.flatnonzero(checked.new)
    state.count("duplicates", len(checked.new) - len(new))
    if len(new):
        _admit_new(state, discoveries, new, now_ms)
    if known_before is not None and len(checked.improved):
        promotion.promote(state, discoveries, checked.improved, known_before, now_ms)
    if state.config.revisit.mode != "off":
        sitemap_lastmod.by_sitemaps(state, discoveries, checked.new, now_ms)


def refuse(state: PartitionState, found: Discovered, reason: str, detail: str) -> int:
    """Refuse a whole record, whatever it holds; gives how many URLs were decided."""
    state.count("discovered", len(found.paths))
    if found.paths:
        turn_away(state, found, reason, detail)
    return len(found.paths)


def _refused(state: PartitionState, found: Discovered) -> bool:
    """Whether a whole record is refused; if so, it is counted."""
    answer = _judged(state, found)
    if answer is not ALLOWED:
        turn_away(state, found, answer.reason, found.referrer)
    return answer is not ALLOWED


def turn_away(state: PartitionState, found: Discovered, reason: str, detail: str) -> None:
    """Refuse a record that counts as discovered already, and holds something."""
    state.count(f"refused_{reason}", len(found.paths))
    url = f"{found.scheme}://{found.server[:LONGEST_SERVER]}{found.paths[0][:500]}"
    state.verdicts.note(found.server[:LONGEST_SERVER], "refused", reason, url, len(found.paths), detail)


def _judged(state: PartitionState, found: Discovered) -> UrlAnswer:
    """The limits of the way and the scope, which a seed or its redirect widens."""
    server = found.server
    if not server or len(server) > LONGEST_SERVER or "\0" in server:
        return FOREIGN_SERVER
    answer = state.limits.judge(server, found.kind, found)
    if answer is not ALLOWED or state.in_scope(server) or found.kind == "requisite":
        return answer
    live = state.servers.open(server.encode())
    if live.record.flags & IN_SCOPE:
        return ALLOWED
    if not widens(found.kind, found.hops):
        return SERVER
    state.servers.touch(live)
    live.record.flags |= IN_SCOPE
    if found.kind == "redirect":
        url = f"{found.scheme}://{server}{found.paths[0][:500]}"
        state.verdicts.note(server, "delayed", "scope-widened", url, 1, f"redirected from {found.referrer}")
    return ALLOWED


def _admit_new(state: PartitionState, discoveries: DiscoveryBatch, new: Order, now_ms: int) -> None:
    """Enqueue new URLs, record by record; ``new`` are their indexes, ascending."""
    owners = np.searchsorted(discoveries.bounds, new, side="right") - 1
    begins = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1]))).tolist()
    numbers = owners[begins].tolist()
    indexes = new.tolist()
    state.servers.prefetch(dict.fromkeys([discoveries.servers[number] for number in numbers]))
    turned_away: list[int] = []
    for number, at, end in zip(numbers, begins, [*begins[1:], len(indexes)], strict=True):
        live = state.servers.open(discoveries.servers[number])
        state.servers.touch(live)
        turned_away += _admit_record(state, live, discoveries, number, indexes[at:end], now_ms)
        state.servers.place(live, now_ms)
    if turned_away:
        state.engine.move(discoveries.hashes[turned_away], discoveries.fingerprints[turned_away], UrlState.REFUSED)


def _admit_record(
    state: PartitionState, live: LiveServer, discoveries: DiscoveryBatch, number: int, new: list[int], now_ms: int
) -> list[int]:
    """Enqueue the new URLs of one record; gives the indexes of those that were refused."""
    record = live.record
    found = discoveries.records[number]
    wanted, refused = _sift(state, live, found, discoveries.bounds[number], new)
    if not wanted:
        return refused
    if not record.queued:
        record.since_ms = now_ms
    record.next_ms = record.next_ms or now_ms
    encoded, prints = discoveries.encoded, discoveries.print_bytes
    priority = discoveries.common_priority(number)
    if priority is None:
        entries = {}
        for index in wanted:
            own = discoveries.priority_of(number, index)
            place = state.place_prefix(found.depth, own) + prints[8 * index : 8 * index + 8]
            entries[place] = head_of(found, own) + encoded[index]
    else:
        prefix, head = state.place_prefix(found.depth, priority), head_of(found, priority)
        entries = {prefix + prints[8 * index : 8 * index + 8]: head + encoded[index] for index in wanted}
    live.added.update(entries)
    first = min(entries)
    if not record.head or first < record.head:
        record.head = first
    if not record.admitted:
        state.count_server(live.name)
    record.queued += len(wanted)
    record.admitted += len(wanted)
    state.count("admitted", len(wanted))
    state.count("queued", len(wanted))
    return refused


def _sift(
    state: PartitionState, live: LiveServer, found: Discovered, first: int, new: list[int]
) -> tuple[list[int], list[int]]:
    """Which of a record's new URLs are wanted, and which are a trap or beyond the budget."""
    record, settings, paths = live.record, state.config.traps, found.paths
    budget = state.for_server(found.server).budget
    longest, slashes = settings.max_path_length, settings.repeated_segments or settings.max_path_length
    suspicious = [
        index
        for index in new
        if len(path := paths[index - first]) > longest or path.count("/") > slashes or "?" in path or path[:1] != "/"
    ]
    strange = not record.next_ms and not is_canonical_server(found.scheme, found.server)
    if not suspicious and not budget and not record.directories and not strange:
        if state.counts_domains:
            state.domain_admits(registered_domain(found.server), len(new))
        return new, []
    domain = registered_domain(found.server) if state.config.partitions.partition_by == "domain" else ""
    room = _room(state, record.admitted, budget, domain)
    wanted: list[int] = []
    refused: list[int] = []
    for index in new:
        path = paths[index - first]
        reason = FOREIGN_SERVER.reason if strange else traps.reason(settings, record, path)
        if not reason and len(wanted) >= room:
            reason = "budget"
        if reason:
            refused.append(index)
            state.count(f"refused_{reason}")
            state.verdicts.note(found.server, "refused", reason, f"{found.scheme}://{found.server}{path[:1000]}")
        else:
            wanted.append(index)
    if domain and (budget or state.counts_domains):
        state.domain_admits(domain, len(wanted))
    return wanted, refused


def _room(state: PartitionState, admitted: int, budget: int, domain: str) -> int:
    if not budget:
        return 1 << 62
    return max(0, budget - (state.domain_admitted(domain) if domain else admitted))
