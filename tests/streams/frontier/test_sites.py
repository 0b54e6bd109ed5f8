"""A partition as the home of sites and as their slot: what it admits, forwards, keeps and tells, and what it makes of rows."""

import pytest
from msgspec.structs import replace

from schemas.codec import encode
from schemas.discovered import Discovered, SiteRow, decode_discovered
from schemas.sites import SiteState
from schemas.sites_found import FoundSite, SitesFound, decode_site_note
from streams.frontier.inspect import PartitionView
from streams.frontier.sites import gate, sites
from streams.frontier.storage.deltas import STATE
from streams.frontier.storage.families import FAMILIES
from tests.streams.frontier import rig as rig_of
from tests.streams.frontier.rig import T0, answer, links
from tests.streams.frontier.site_crawl import PARTITIONS, SiteCrawl

SITE = "a.example"


def other_than(*partitions: int) -> int:
    return next(number for number in range(PARTITIONS) if number not in partitions)


def ends(crawl: SiteCrawl, server: str = SITE) -> tuple[int, int]:
    """Home and some other partition."""
    home = crawl.home(server)
    return home, other_than(home)


def test_links_of_an_unknown_site_wait_at_its_home_and_the_coordinator_is_told_once() -> None:
    with SiteCrawl() as crawl:
        home = crawl.members[crawl.home(SITE)]
        found = links(SITE, "/1", "/2", referrer="https://b.example/", off_site=1, seed=3, found_ms=7)
        for record in (found, links(SITE, "/3")):
            crawl.send(record)
            home.read()
            home.commit()
        assert (home.counters["waiting"], home.counters["sites_asked"], home.missing()) == (3, 1, 0)
        assert "admitted" not in home.counters or not home.counters["admitted"]
        assert crawl.told() == [
            FoundSite(site=SITE, scheme="http", hops=1, off_site=1, seed=3, found_on="https://b.example/", found_ms=7)
        ]
        note = decode_site_note(crawl.sites_found[0].value)
        assert isinstance(note, SitesFound)
        assert (note.home, note.load, crawl.sites_found[0].key) == (home.partition, 0, str(home.partition).encode())


def test_a_report_without_paths_tells_of_a_site_and_is_neither_kept_nor_counted() -> None:
    with SiteCrawl() as crawl:
        home = crawl.members[crawl.home(SITE)]
        for _ in range(2):
            crawl.send(links(SITE))
            home.read()
            home.commit()
        assert [one.site for one in crawl.told()] == [SITE]
        assert (home.counters.get("waiting", 0), home.counters.get("discovered", 0)) == (0, 0)


def test_waiting_links_go_to_the_slot_whole_and_in_their_order_once_the_pointer_has_come() -> None:
    with SiteCrawl() as crawl:
        home, slot = (crawl.members[number] for number in ends(crawl))
        records = [
            links(SITE, "/1", "/2", kind="seed", counts=(2, 1)),
            links(SITE, "/1", kind="repetition", counts=(4,)),
            links(SITE, "/3", kind="sitemap", lastmods_ms=(5,)),
        ]
        for record in records:
            crawl.send(record)
        home.read()
        home.commit()
        crawl.place(SITE, slot.partition)
        crawl.settle()
        assert [decode_discovered(one.value) for one in crawl.discovered[slot.partition][1:]] == records
        assert (home.counters["waiting"], home.counters["forwarded"], home.missing()) == (0, 4, 0)
        assert (slot.counters["admitted"], slot.counters["duplicates"], slot.missing()) == (3, 1, 0)
        assert (slot.counters["sites_owned"], home.counters["sites_asked"]) == (1, 0)
        assert {order.partition for order in slot.orders} == {slot.partition}
        assert not list(home.rig.replica.reader.scan("waiting"))


def test_a_home_that_is_the_slot_admits_what_waited_and_counts_it_as_discovered_once() -> None:
    with SiteCrawl() as crawl:
        home = crawl.members[crawl.home(SITE)]
        crawl.send(links(SITE, "/1", "/2"))
        crawl.settle()
        crawl.place(SITE, home.partition)
        crawl.send(links(SITE, "/2", "/3"))
        crawl.settle()
        assert (home.counters["discovered"], home.counters["admitted"], home.counters["duplicates"]) == (4, 3, 1)
        assert (home.counters["waiting"], home.missing()) == (0, 0)


def test_an_old_table_costs_a_detour_over_home() -> None:
    with SiteCrawl() as crawl:
        home, slot = ends(crawl)
        stray = other_than(home, slot)
        crawl.place(SITE, slot)
        crawl.send(links(SITE, "/1"), stray)
        crawl.settle()
        assert [crawl.members[number].counters.get("forwarded", 0) for number in (stray, home, slot)] == [1, 1, 0]
        assert crawl.members[slot].counters["admitted"] == 1
        assert crawl.total("admitted") == 1


def test_links_that_come_while_others_wait_to_be_handed_over_go_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "HANDED_RECORDS", 2)
    with SiteCrawl() as crawl:
        home, slot = (crawl.members[number] for number in ends(crawl))
        home.commit()
        for number in range(5):
            crawl.send(links(SITE, f"/{number}"))
        home.read()
        home.commit()
        crawl.place(SITE, slot.partition)
        home.read()
        assert home.tick() == 2
        assert home.tick() == 0, "a checkpoint has its fill"
        crawl.send(links(SITE, "/5"))
        home.read()
        home.commit()
        assert (home.counters["waiting"], home.counters["forwarded"]) == (4, 2)
        crawl.settle()
        paths = [decode_discovered(one.value).paths[0] for one in crawl.discovered[slot.partition][1:]]
        assert paths == [f"/{number}" for number in range(6)]


def test_a_hand_over_goes_on_after_an_abort_a_restart_and_a_move_and_sends_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sites, "HANDED_RECORDS", 1)
    with SiteCrawl() as crawl:
        home, slot = (crawl.members[number] for number in ends(crawl))
        home.commit()
        for number in range(6):
            crawl.send(links(SITE, f"/{number}"))
        home.read()
        home.commit()
        crawl.place(SITE, slot.partition)
        home.read()
        home.tick()
        home.abort()
        home.read()
        home.tick()
        home.commit()
        for interruption in (home.restart, home.abort, lambda: home.move(truncated=True)):
            home.tick()
            interruption()
            home.tick()
            home.commit()
        crawl.settle()
        paths = [decode_discovered(one.value).paths[0] for one in crawl.discovered[slot.partition][1:]]
        assert paths == [f"/{number}" for number in range(6)]


def test_an_abort_forgets_that_a_site_was_told_and_tells_it_again() -> None:
    with SiteCrawl() as crawl:
        home = crawl.members[crawl.home(SITE)]
        crawl.send(links(SITE, "/1"))
        home.read()
        home.abort()
        home.read()
        home.commit()
        assert (len(crawl.told()), home.counters["waiting"]) == (1, 1)


def test_rows_that_are_not_newer_are_passed_over() -> None:
    with SiteCrawl() as crawl:
        home = crawl.members[crawl.home(SITE)]
        crawl.place(SITE, home.partition, version=2, budget=5)
        crawl.place(SITE, home.partition, version=2, budget=1)
        crawl.place(SITE, home.partition, version=1, state="blocked")
        crawl.send(links(SITE, "/1", "/2"))
        crawl.settle()
        assert (home.counters["admitted"], home.counters["sites_owned"]) == (2, 1)
        assert crawl.verdicts == []


@pytest.mark.parametrize("newer", [1, 9])
def test_a_row_with_another_slot_is_a_verdict_and_never_a_second_owner(newer: int) -> None:
    with SiteCrawl() as crawl:
        home, slot = ends(crawl)
        crawl.place(SITE, slot)
        crawl.settle()
        crawl.give(home, SiteRow(site=SITE, slot=home, version=newer))
        crawl.give(slot, SiteRow(site=SITE, slot=home, version=newer))
        crawl.send(links(SITE, "/1"))
        crawl.settle()
        assert [(one.server, one.reason) for one in crawl.verdicts] == [
            (SITE, "placed-elsewhere" if number == home else "misplaced") for number in sorted((home, slot))
        ]
        assert (crawl.total("sites_owned"), crawl.members[slot].counters["admitted"]) == (1, 1)


def test_rows_for_others_for_partitions_that_are_not_there_and_without_a_name_are_verdicts() -> None:
    with SiteCrawl() as crawl:
        home, slot = ends(crawl)
        stray = other_than(home, slot)
        crawl.give(stray, SiteRow(site=SITE, slot=slot))
        crawl.give(home, SiteRow(site=SITE, slot=PARTITIONS), SiteRow(site=SITE, slot=-1))
        crawl.give(home, SiteRow(site="", slot=home), SiteRow(site="x" * 400, slot=home))
        crawl.settle()
        assert sorted(one.reason for one in crawl.verdicts) == ["invalid", "invalid", "misplaced", "misplaced"]
        assert crawl.total("rows_refused") == 5
        assert crawl.total("sites_owned") == 0


def test_a_forged_pointer_sends_links_round_a_few_times_and_then_they_are_refused() -> None:
    with SiteCrawl() as crawl:
        home, slot = ends(crawl)
        crawl.give(home, SiteRow(site=SITE, slot=slot))
        crawl.send(links(SITE, "/1", "/2"))
        crawl.settle()
        assert (crawl.total("forwarded"), crawl.total("refused_misplaced"), crawl.total("admitted")) == (8, 2, 0)


def test_links_of_a_site_that_nobody_approved_are_bounded_and_the_count_of_the_others_is_exact() -> None:
    with SiteCrawl(sites={"waiting_links": 5}) as crawl:
        home = crawl.members[crawl.home(SITE)]
        slot = crawl.members[other_than(home.partition)]
        crawl.send(links(SITE, "/1", "/2", "/3"))
        crawl.settle()
        crawl.give(home.partition, SiteRow(site=SITE, slot=slot.partition, state="waiting"))
        crawl.send(links(SITE, "/4", "/5", "/6", "/7", counts=(4, 5, 6, 7)))
        crawl.send(links(SITE, "/8"))
        crawl.settle()
        assert (home.counters["waiting"], home.counters["waiting_held"], home.counters["sites_asked"]) == (5, 5, 0)
        assert (home.counters["refused_waiting"], home.missing()) == (3, 0)
        assert [(one.reason, one.count) for one in crawl.verdicts] == [("waiting", 3)]
        crawl.place(SITE, slot.partition, version=2)
        crawl.settle()
        assert (home.counters["waiting"], home.counters["waiting_held"], slot.counters["admitted"]) == (0, 0, 5)
        assert decode_discovered(crawl.discovered[slot.partition][-1].value).counts == (4, 5)


def test_links_that_wait_for_the_first_answer_are_all_kept() -> None:
    with SiteCrawl(sites={"waiting_links": 2}) as crawl:
        crawl.send(links(SITE, *(f"/{number}" for number in range(9))))
        crawl.settle()
        assert (crawl.total("waiting"), crawl.total("waiting_held")) == (9, 0)


def test_links_that_waited_for_a_site_which_is_blocked_then_are_refused() -> None:
    with SiteCrawl() as crawl:
        home = crawl.members[crawl.home(SITE)]
        crawl.send(links(SITE, "/1", "/2"))
        crawl.settle()
        crawl.give(home.partition, SiteRow(site=SITE, slot=other_than(home.partition), state="blocked"))
        crawl.send(links(SITE, "/3"))
        crawl.settle()
        assert (home.counters["refused_blocked"], home.counters["waiting"], home.missing()) == (3, 0, 0)
        assert home.counters.get("forwarded", 0) == 0


@pytest.mark.parametrize("before", ["waiting", "blocked", "unresolvable"])
def test_all_links_of_an_approved_site_are_kept_while_its_name_is_resolved(before: SiteState) -> None:
    with SiteCrawl(sites={"waiting_links": 2}) as crawl:
        home, slot = (crawl.members[number] for number in ends(crawl))
        crawl.give(home.partition, SiteRow(site=SITE, slot=slot.partition, state=before))
        crawl.give(home.partition, SiteRow(site=SITE, slot=slot.partition, state="found", version=2))
        crawl.send(links(SITE, "/1", "/2", "/3"))
        crawl.settle()
        assert (home.counters["waiting"], home.counters.get("waiting_held", 0), home.missing()) == (3, 0, 0)
        crawl.place(SITE, slot.partition, version=3)
        crawl.settle()
        assert (slot.counters["admitted"], home.counters["waiting"]) == (3, 0)


def test_names_that_are_no_servers_are_refused_and_no_coordinator_hears_of_them() -> None:
    names = ["", "x" * 400, "a\0b", "UPPER.example", "a b.example"]
    with SiteCrawl() as crawl:
        for name in names:
            crawl.send(links(name, "/1"))
        crawl.settle()
        assert (crawl.total("refused_invalid"), crawl.total("waiting"), crawl.told()) == (len(names), 0, [])


def test_a_record_that_is_too_large_for_the_changelog_waits_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "LARGEST_KEPT", 300)
    with SiteCrawl() as crawl:
        home, slot = (crawl.members[number] for number in ends(crawl))
        paths = tuple(f"/{number:050}" for number in range(9))
        crawl.send(links(SITE, *paths, counts=tuple(range(1, 10))))
        crawl.settle()
        kept = [decode_discovered(value) for _, value in home.rig.replica.reader.scan("waiting")]
        assert len(kept) > 1
        assert all(len(encode(one)) <= 300 for one in kept)
        assert tuple(path for one in kept for path in one.paths) == paths
        assert tuple(count for one in kept for count in one.counts) == tuple(range(1, 10))
        crawl.place(SITE, slot.partition)
        crawl.settle()
        assert slot.counters["admitted"] == 9


def test_the_budget_and_depth_of_a_site_stand_before_those_of_the_configuration() -> None:
    with SiteCrawl(crawl={"scope": "any", "server_budget": 100, "max_depth": 3}) as crawl:
        slot = crawl.members[0]
        crawl.place(SITE, 0, budget=2, max_depth=5)
        crawl.place("b.example", 0)
        for server in (SITE, "b.example"):
            crawl.send(links(server, "/1", "/2", "/3", depth=2), 0)
            crawl.send(links(server, "/4", depth=5), 0)
        crawl.settle()
        assert slot.counters["admitted"] == 5
        assert (slot.counters["refused_budget"], slot.counters["refused_depth"], slot.missing()) == (2, 1, 0)
        crawl.place(SITE, 0, version=2, budget=3)
        crawl.send(links(SITE, "/5", "/6"), 0)
        crawl.settle()
        assert (slot.counters["admitted"], slot.counters["refused_budget"]) == (6, 3)


def test_a_domain_has_one_budget_for_all_its_servers_also_one_that_was_given_later() -> None:
    with SiteCrawl(partitions={"partition_by": "domain"}) as crawl:
        slot = crawl.members[1]
        crawl.place(SITE, 1)
        crawl.send(links("x.a.example", "/1", "/2"), 1)
        crawl.send(links("y.a.example", "/1"), 1)
        crawl.settle()
        crawl.place(SITE, 1, version=2, budget=4)
        crawl.send(links("z.a.example", "/1", "/2"), 1)
        crawl.send(links("x.a.example", "/1", "/3"), 1)
        crawl.settle()
        assert (slot.counters["admitted"], slot.counters["refused_budget"], slot.counters["duplicates"]) == (4, 2, 1)


@pytest.mark.parametrize("by", ["server", "domain"])
def test_queued_urls_of_a_blocked_site_leave_with_verdicts_and_results_still_count(by: str) -> None:
    servers = [SITE] if by == "server" else ["x.a.example", "y.a.example"]
    with SiteCrawl(partitions={"partition_by": by}, fetch={"urls_per_order": 1}) as crawl:
        slot = crawl.members[2]
        crawl.place(SITE, 2)
        crawl.place("b.example", 2)
        for server in (*servers, "b.example"):
            crawl.send(links(server, "/1", "/2", "/3"), 2)
        crawl.settle()
        crawl.place(SITE, 2, version=2, state="blocked")
        crawl.send(links(servers[0], "/4"), 2)
        crawl.settle()
        queued = 2 * len(servers)
        assert (slot.counters["dropped_blocked"], slot.counters["refused_blocked"]) == (queued, 1)
        assert (slot.counters["leased"], slot.counters["queued"]) == (len(servers) + 1, 2)
        for order in list(slot.orders):
            slot.confirm(answer(order, "ok" if order.server in (servers[0], "b.example") else "timeout"))
        crawl.settle()
        crawl.now += 3_600_000
        crawl.settle()
        dropped = queued + len(servers) - 1
        assert (slot.counters["dropped"], slot.counters["confirmed"]) == (dropped, 2)
        ended = sum(slot.counters.get(name, 0) for name in ("queued", "leased", "retrying", "confirmed", "dropped"))
        assert ended == slot.counters["admitted"]
        assert {one.server: one.reason for one in crawl.verdicts} == dict.fromkeys(servers, "blocked")


def test_the_queue_of_a_blocked_site_leaves_by_and_by_and_also_after_a_restart() -> None:
    with SiteCrawl() as crawl:
        slot = crawl.members[3]
        crawl.place(SITE, 3)
        for first in range(0, 12_000, 1000):
            crawl.send(links(SITE, *(f"/{number}" for number in range(first, first + 1000))), 3)
        slot.read()
        slot.commit()
        crawl.place(SITE, 3, version=2, state="blocked")
        slot.read()
        assert 0 < slot.tick() < 6000
        slot.commit()
        slot.tick()
        slot.abort()
        slot.tick()
        slot.commit()
        slot.restart()
        crawl.settle()
        assert (slot.counters["dropped_blocked"], slot.counters["queued"], slot.orders) == (12_000, 0, [])


def test_a_blocked_site_with_an_order_out_is_approved_again_and_goes_on_with_what_is_found_then() -> None:
    with SiteCrawl(fetch={"urls_per_order": 1}) as crawl:
        slot = crawl.members[0]
        crawl.place(SITE, 0)
        crawl.send(links(SITE, "/1", "/2"), 0)
        crawl.settle()
        crawl.place(SITE, 0, version=2, state="blocked")
        crawl.settle()
        crawl.place(SITE, 0, version=3)
        crawl.send(links(SITE, "/2", "/3"), 0)
        crawl.settle()
        slot.confirm(answer(slot.orders[0]))
        crawl.settle()
        assert [order.urls[0].path for order in slot.orders[1:]] == ["/3"]
        assert (slot.counters["dropped_blocked"], slot.counters["duplicates"]) == (1, 1)


def test_a_lease_of_a_blocked_site_that_nobody_answers_comes_back_and_leaves() -> None:
    with SiteCrawl() as crawl:
        slot = crawl.members[0]
        crawl.place(SITE, 0)
        crawl.send(links(SITE, "/1", "/2"), 0)
        crawl.settle()
        crawl.place(SITE, 0, version=2, state="blocked")
        crawl.settle()
        assert slot.counters["leased"] == 2
        crawl.now += 3_600_000
        crawl.settle()
        assert (slot.counters["leased"], slot.counters["dropped_blocked"], slot.counters["returned"]) == (0, 2, 2)


def test_visits_of_a_blocked_site_end_when_their_time_comes() -> None:
    with SiteCrawl(revisit={"mode": "fixed", "interval_hours": 1.0}) as crawl:
        slot = crawl.members[0]
        crawl.place(SITE, 0)
        crawl.send(links(SITE, "/1"), 0)
        crawl.settle()
        slot.confirm(answer(slot.orders[0]))
        crawl.settle()
        crawl.place(SITE, 0, version=2, state="blocked")
        crawl.now += 3_600_001
        crawl.settle()
        assert (slot.counters["revisiting"], slot.counters["recrawled"], slot.counters["dropped_blocked"]) == (0, 1, 1)
        assert len(slot.orders) == 1


def test_a_row_holds_for_what_comes_behind_it_in_the_same_batch_and_for_nothing_before() -> None:
    with SiteCrawl() as crawl:
        slot = crawl.members[0]
        crawl.place(SITE, 0)
        for version, state in ((2, "blocked"), (3, "placed")):
            crawl.send(links(SITE, f"/before-{version}"), 0)
            crawl.place(SITE, 0, version=version, state=state)
        crawl.send(links(SITE, "/after"), 0)
        slot.read()
        assert (slot.counters["admitted"], slot.counters["refused_blocked"], slot.missing()) == (2, 1, 0)


def test_many_sites_are_told_in_records_of_a_bounded_size() -> None:
    with SiteCrawl() as crawl:
        names = [f"s{number}.example" for number in range(3000)]
        for name in names:
            crawl.send(Discovered(server=name, paths=("/",), referrer="https://b.example/" + "\1" * 2000))
        crawl.settle()
        assert sorted(one.site for one in crawl.told()) == sorted(names)
        assert max(len(one.value or b"") for one in crawl.sites_found) < 4 * 1024 * 1024


def test_what_is_remembered_of_sites_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "REMEMBERED", 10)
    with SiteCrawl() as crawl:
        for round_ in range(2):
            for number in range(100):
                crawl.send(links(f"s{number}.example", f"/{round_}"))
            crawl.settle()
        for member in crawl.members:
            assert member.rig.frontier.state.sites is not None
            assert len(member.rig.frontier.state.sites._known) <= 10
        assert (len(crawl.told()), crawl.total("waiting")) == (100, 200)


def test_a_look_into_the_state_tells_what_home_and_slot_know_of_a_site() -> None:
    with SiteCrawl() as crawl:
        home, slot = (crawl.members[number] for number in ends(crawl))
        view, at_slot = (PartitionView(member.rig.replica.reader) for member in (home, slot))
        assert view.site(SITE) is None
        crawl.send(links(SITE, "/1", "/2"))
        crawl.send(links(SITE, "/3"))
        crawl.settle()
        asked = view.site(SITE)
        assert asked is not None
        assert (asked.version, asked.links, list(view.asked_sites())) == (0, 3, [SITE])
        crawl.give(home.partition, SiteRow(site=SITE, slot=slot.partition, state="waiting"))
        crawl.settle()
        assert (view.counts().waiting, view.counts().waiting_held, list(view.asked_sites())) == (3, 3, [])
        crawl.place(SITE, slot.partition, version=2)
        crawl.settle()
        pointer, grant = view.site(SITE), at_slot.site(SITE)
        assert pointer is not None
        assert grant is not None
        assert (pointer.slot, pointer.owned, grant.owned, grant.version) == (slot.partition, False, True, 2)
        assert (list(view.owned_sites()), list(at_slot.owned_sites())) == ([], [SITE])
        assert view.counts().waiting == 0


def test_a_state_from_before_there_were_sites_opens_and_its_changelog_is_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = FAMILIES[: FAMILIES.index("sites")]
    old = replace(STATE, families=before)
    with monkeypatch.context() as then:
        then.setattr(rig_of, "FAMILIES", before)
        then.setattr(rig_of, "STATE", old)
        made = rig_of.Rig()
        made.frontier.discover([links(SITE, "/1", "/2")], T0)
        made.commit()
    with made as rig:
        rig.restart()
        rig.frontier.dispatch(T0)
        assert rig.counters["leased"] == 2
        rig.commit()
        rig.move()
        assert rig.counters["admitted"] == 2
        assert list(rig.replica.reader.scan("waiting")) == []
