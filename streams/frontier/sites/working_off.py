"""What follows from rows by and by, in pieces that fit into a checkpoint and a tick.

Links that waited for a slot go to it, or are admitted where that is here; those of a blocked site are refused. Queued URLs of a blocked
site leave: what waits for another attempt or visit when its time comes, what is out in an order when that comes back.
"""

from schemas.discovered import Discovered, decode_discovered
from streams.frontier.admit.admission import decide, turn_away
from streams.frontier.dispatch.dispatch import DRAINED, Quota, cut, take
from streams.frontier.partition_state import PartitionState
from streams.frontier.settle.lifecycle import drop
from streams.frontier.sites import forwarding
from streams.frontier.sites.site_record import SiteRecord
from streams.frontier.sites.sites import Sites
from streams.frontier.storage import queue


def work_off(state: PartitionState, sites: Sites, now_ms: int, quota: Quota) -> None:
    """As much as a checkpoint and a tick have room for."""
    if sites.hands_over:
        quota.moved += _hand_over(state, sites, now_ms)
    if sites.leaving:
        _drop_blocked(state, sites, now_ms, quota)


def _hand_over(state: PartitionState, sites: Sites, now_ms: int) -> int:
    moved = 0
    for site in list(sites.ending):
        known = sites.get(site)
        if known is not None and known.links:
            moved += _hand_over_site(state, sites, site, known, now_ms)
        if known is None or not known.links:
            sites.rest(site)
        if not sites.hands_over:
            break
    sites.looked()
    return moved


def _hand_over_site(state: PartitionState, sites: Sites, site: str, known: SiteRecord, now_ms: int) -> int:
    """Gives how many links do not wait any more."""
    before = known.links
    admitted: list[Discovered] = []
    for number, value in sites.waiting(site, known):
        found = decode_discovered(value)
        links = len(found.paths)
        sites.remove(site, known, number, links)
        if known.state == "blocked":
            turn_away(state, found, "blocked", "its site is blocked")
        elif known.owned:
            admitted.append(found)
        else:
            state.count("forwarded", links)
            sites.outputs.append(forwarding.forward(known.slot, found.server, value))
    moved = before - known.links
    state.count("waiting", -moved)
    if admitted:
        decide(state, admitted, now_ms)
    return moved


def _drop_blocked(state: PartitionState, sites: Sites, now_ms: int, quota: Quota) -> None:
    """Take out what is queued for servers of blocked sites. Of other servers nothing is said: a site may be approved again."""
    while sites.leaving and quota.effort > 0:
        name = next(iter(sites.leaving))
        live = state.servers.open(name) if state.servers.has_work(name) and sites.is_blocked(name.decode()) else None
        if live is None or not live.record.queued:
            del sites.leaving[name]
            continue
        state.servers.touch(live)
        entries, following = cut(queue.first_entries(live, state.store, DRAINED + 1), DRAINED)
        take(state, live, entries, following)
        drop(state, live, entries, "dropped", "blocked", "its site is blocked")
        state.servers.place(live, now_ms)
        quota.moved += len(entries)
        quota.effort -= len(entries)
