"""What becomes of sites that homes tell of, of commands, and of records that nobody should have written."""

from gregor.url.fingerprint import partition_of
from schemas.discovered import Discovered, SiteRows
from schemas.sites_found import SitesFound
from tests.streams.coordinator.rig import PARTITIONS, Names, Rig, command, configure, found
from tests.streams.frontier.rig import T0

SITES = tuple(f"www{number}.example.org" for number in range(20))


def home_of(site: str) -> int:
    return partition_of(site, 64, PARTITIONS)


def elsewhere(rig: Rig) -> str:
    """A site whose slot is not its home."""
    return next(site for site, row in rig.rows.items() if row.slot != home_of(site))


def test_a_new_site_gets_a_row_a_grant_a_pointer_and_its_root_page_in_one_commit() -> None:
    with Rig() as rig:
        rig.do(found(*SITES, hops=3, off_site=1, seed=2))
        assert [rig.rows[site].rank for site in SITES] == list(range(len(SITES)))
        assert [rig.rows[site].slot for site in SITES] == [rank % PARTITIONS for rank in range(len(SITES))]
        site = elsewhere(rig)
        row = rig.rows[site]
        assert (row.state, row.version, row.found_on, row.found_ms) == ("placed", 1, "https://a.example/", T0)
        for partition in (row.slot, home_of(site)):
            assert [(one.slot, one.state, one.version) for one in rig.told_of(site, partition)] == [
                (row.slot, "placed", 1)
            ]
        root = next(one for one in rig.roots(row.slot) if one.server == site)
        assert root == Discovered(
            server=site, paths=("/",), hops=3, off_site=1, seed=2, internal=False, referrer=row.found_on, found_ms=T0
        )
        assert rig.latest == rig.rows
        assert rig.counters["sites_known"] == rig.counters["sites_placed"] == len(SITES)


def test_grants_stand_before_root_pages_and_make_one_record_a_partition() -> None:
    with Rig() as rig:
        rig.do(found(*SITES[:10]), found(*SITES[10:], home=1))
        for records in rig.discovered.values():
            kinds = [isinstance(record, SiteRows) for record in records]
            assert kinds == sorted(kinds, reverse=True)
            assert kinds.count(True) == 1


def test_without_root_pages_nothing_but_rows_is_written() -> None:
    with Rig(configure(root_page=False)) as rig:
        rig.do(found(*SITES))
        assert not any(rig.roots(partition) for partition in range(PARTITIONS))


def test_a_site_that_is_told_again_is_told_to_its_home_alone() -> None:
    with Rig() as rig:
        rig.do(found(*SITES))
        site = elsewhere(rig)
        slot, before = rig.rows[site].slot, dict(rig.rows)
        rig.do(found(site, site), found(site, home=2))
        assert rig.rows == before
        assert len(rig.told_of(site, home_of(site))) == 2
        assert len(rig.told_of(site, slot)) == 1
        assert len(rig.table) == len(SITES)


def test_a_site_twice_in_one_batch_arrives_once() -> None:
    with Rig() as rig:
        rig.do(found("a.example", "b.example", "a.example"), found("b.example"))
        assert {site: row.rank for site, row in rig.rows.items()} == {"a.example": 0, "b.example": 1}
        assert rig.counters["sites_known"] == 2


def test_new_sites_go_to_as_many_slots_as_somebody_said_and_old_ones_stay() -> None:
    with Rig(configure(slots=2)) as rig:
        rig.do(found(*SITES[:8]))
        assert {row.slot for row in rig.rows.values()} == {0, 1}
        before = rig.rows
        rig.do(command("slots", slots=0))
        rig.restart()
        rig.do(found(*SITES[8:16]))
        assert {rig.rows[site].slot for site in SITES[8:16]} == {0, 1, 2, 3}
        assert {site: rig.rows[site] for site in before} == before


def test_slots_beyond_the_partitions_are_a_verdict_and_change_nothing() -> None:
    with Rig() as rig:
        rig.do(command("slots", slots=PARTITIONS + 1), command("slots", slots=-1), found(*SITES))
        assert [one.reason for one in rig.verdicts] == ["impossible-slots"]
        assert {row.slot for row in rig.rows.values()} == set(range(PARTITIONS))


def test_the_least_loaded_slot_gets_the_next_site() -> None:
    with Rig(configure(assign="least-loaded")) as rig:
        rig.do(SitesFound(home=0, load=500), SitesFound(home=1, load=100), SitesFound(home=2, load=900))
        rig.do(found("a.example", home=3, load=300))
        assert rig.rows["a.example"].slot == 1
        # 1,800 URLs of one site: each one given since counts for 2,048 more.
        rig.do(found("b.example", "c.example", "d.example", "e.example", home=1, load=100))
        assert [rig.rows[site].slot for site in ("b.example", "c.example", "d.example", "e.example")] == [1, 3, 0, 2]


def test_loads_that_nobody_can_have_are_bounded() -> None:
    with Rig(configure(assign="least-loaded")) as rig:
        rig.do(found(*SITES[:3], load=2**62))
        assert {row.slot for row in rig.rows.values()} == {1, 2, 3}
        rig.do(found(*SITES[3:], home=1, load=-5))
        rig.restart()
        assert len(rig.rows) == len(SITES)


def test_sites_wait_for_approval_where_that_is_wanted() -> None:
    with Rig(configure(admit="approved")) as rig:
        rig.do(found("a.example", scheme="http", hops=4))
        row = rig.rows["a.example"]
        home = home_of("a.example")
        assert row.state == "waiting"
        assert [one.state for one in rig.told_of("a.example", home)] == ["waiting"]
        assert rig.counters["sites_waiting"] == 1
        rig.restart()
        rig.do(command("approve", "a.example", budget=100, tags=("shop", "german")))
        after = rig.rows["a.example"]
        assert (after.state, after.version, after.budget, after.tags) == ("placed", 2, 100, ("german", "shop"))
        assert (after.slot, after.rank, after.by, after.changed_ms) == (row.slot, row.rank, "ada", T0 + 1)
        assert [(one.state, one.budget) for one in rig.told_of("a.example", row.slot)][-1] == ("placed", 100)
        (root,) = rig.roots(row.slot)
        assert (root.scheme, root.hops) == ("http", 4)
        assert (rig.counters["sites_waiting"], rig.counters["sites_placed"]) == (0, 1)


def test_a_blocked_site_is_told_to_slot_and_home_and_comes_back_without_a_second_root_page() -> None:
    with Rig() as rig:
        rig.do(found(*SITES))
        site = elsewhere(rig)
        slot = rig.rows[site].slot
        rig.do(command("block", site, detail="they asked us to"))
        row = rig.rows[site]
        assert (row.state, row.detail, row.version) == ("blocked", "they asked us to", 2)
        for partition in (slot, home_of(site)):
            assert [one.state for one in rig.told_of(site, partition)] == ["placed", "blocked"]
        rig.do(command("approve", site))
        assert rig.rows[site].state == "placed"
        for partition in (slot, home_of(site)):
            assert [one.state for one in rig.told_of(site, partition)] == ["placed", "blocked", "placed"]
        assert [root.server for root in rig.roots(slot)].count(site) == 1


def test_a_site_that_was_blocked_before_it_was_placed_is_told_to_its_home_alone() -> None:
    with Rig(configure(admit="approved")) as rig:
        rig.do(found(*SITES))
        site = elsewhere(rig)
        rig.do(command("block", site))
        assert [one.state for one in rig.told_of(site, home_of(site))] == ["waiting", "blocked"]
        assert rig.told_of(site, rig.rows[site].slot) == []
        rig.do(command("approve", site))
        assert [one.state for one in rig.told_of(site, rig.rows[site].slot)] == ["placed"]
        assert [root.server for root in rig.roots(rig.rows[site].slot)] == [site]


def test_settings_reach_the_slot_and_a_command_that_changes_nothing_writes_nothing() -> None:
    with Rig() as rig:
        rig.do(found("a.example"))
        rig.do(command("set", "a.example", budget=7, max_depth=3))
        row = rig.rows["a.example"]
        told = rig.told_of("a.example", row.slot)[-1]
        assert (told.budget, told.max_depth, told.version) == (7, 3, 2)
        written = len(rig.table)
        rig.do(command("set", "a.example", budget=7), command("approve", "a.example"))
        assert len(rig.table) == written
        assert rig.counters["commands"] == 3


def test_a_site_can_be_added_before_anybody_meets_it() -> None:
    with Rig() as rig:
        rig.do(command("add", "a.example", "a.example", scheme="http", budget=5))
        row = rig.rows["a.example"]
        assert (row.state, row.found_on, row.by, row.budget) == ("placed", "", "ada", 5)
        assert [root.scheme for root in rig.roots(row.slot)] == ["http"]
        rig.do(command("add", "a.example", tags=("x",)))
        assert rig.rows["a.example"].tags == ("x",)
        assert rig.counters["sites_known"] == 1


def test_commands_for_unknown_sites_and_impossible_settings_are_verdicts() -> None:
    with Rig() as rig:
        rig.do(found("a.example"))
        before = rig.rows
        rig.do(
            command("approve", "b.example"),
            command("block", "c.example"),
            command("set", "a.example", budget=-1),
            command("set", "a.example", tags=("",)),
            command("add", "Not A Site"),
            command("add", "0x7f.1"),
        )
        assert sorted((one.server, one.reason) for one in rig.verdicts) == [
            ("0x7f.1", "invalid-site"),
            ("Not A Site", "invalid-site"),
            ("a.example", "invalid-setting"),
            ("b.example", "unknown-site"),
            ("c.example", "unknown-site"),
        ]
        assert all(one.stage == "coordinator" and one.kind == "refused" for one in rig.verdicts)
        assert rig.rows == before


def test_sites_that_are_none_are_verdicts_and_the_others_of_the_record_arrive() -> None:
    with Rig() as rig:
        rig.do(
            found("a.example", "UPPER.example", "a b", "x" * 10_000, "", "user@host", "h:443", "\0", "127.1"),
            found("b.example", server="other.example"),
            found("c.example", home=PARTITIONS),
            found("d.example", home=-1),
            found("[::1]", "127.0.0.1:8080", "h:8080", "bücher.example"),
        )
        assert sorted(rig.rows) == ["127.0.0.1:8080", "[::1]", "a.example", "h:8080"]
        assert {one.reason for one in rig.verdicts} == {"invalid-site", "unknown-home"}


def test_unreadable_records_become_dead_letters_and_the_rest_is_taken() -> None:
    with Rig() as rig:
        rig.do(b"", b"{", b'{"type":"nonsense"}', b'{"type":"found","home":"x"}', found("a.example"))
        assert len(rig.letters) == 4
        assert list(rig.rows) == ["a.example"]


def test_domains_are_sites_and_their_first_servers_have_the_root_page() -> None:
    with Rig(configure(partition_by="domain")) as rig:
        rig.do(
            found("example.co.uk", server="www.example.co.uk"),
            found("example.org"),
            found("a.example.net"),
            found("example.com", server="example.net"),
            found("127.0.0.1", server="127.0.0.1:8080"),
        )
        assert sorted(rig.rows) == ["127.0.0.1", "example.co.uk", "example.org"]
        assert [root.server for root in rig.roots(rig.rows["example.co.uk"].slot)] == ["www.example.co.uk"]
        assert {one.server for one in rig.verdicts} == {"a.example.net", "example.com"}


def test_what_a_failed_commit_decided_never_happened() -> None:
    with Rig(configure(assign="least-loaded")) as rig:
        rig.do(found("a.example", load=10))
        counters, rows = rig.counters, rig.rows
        rig.tell(found("b.example", "c.example", home=1, load=20), command("block", "a.example"))
        rig.read()
        rig.abort()
        assert (rig.counters, rig.rows) == (counters, rows)
        rig.read()
        rig.commit()
        assert rig.latest == rig.rows
        assert rig.rows["a.example"].state == "blocked"
        assert [rig.rows[site].rank for site in ("b.example", "c.example")] == [1, 2]


def test_many_sites_make_records_that_a_broker_takes() -> None:
    """Of names as long as they may be, found on pages whose addresses nobody shortened; the rig asserts the size of every record."""
    names = [f"{'x' * 60}.{'y' * 60}.{'z' * 60}.n{number}.example" for number in range(6_000)]
    with Rig(configure(slots=1)) as rig:
        for at in range(0, len(names), 500):
            rig.tell(found(*names[at : at + 500], found_on="https://a.example/" + "ü" * 3000))
        rig.read()
        rig.commit()
        assert rig.counters["sites_placed"] == len(names)
        assert all(len(row.found_on) == 2048 for row in rig.rows.values())
        rig.move()


def test_a_name_without_name_servers_is_never_asked_for() -> None:
    names = Names()
    with Rig(configure(resolve=True), names) as rig:
        rig.do(found("127.0.0.1:8080", "[::1]:80"))
        rig.step()
        assert not names.asked
        assert rig.rows["127.0.0.1:8080"].state == "placed"
