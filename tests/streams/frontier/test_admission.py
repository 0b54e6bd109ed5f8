"""What of the discoveries enters the queue, and what is said of the rest."""

from typing import Any

import pytest

from schemas.discovered import Discovered
from schemas.verdicts import decode_verdict
from tests.streams.frontier.rig import T0, Rig, answer, configure, links, paths_of


def refused(rig: Rig) -> dict[str, int]:
    return {name[8:]: count for name, count in rig.counters.items() if name.startswith("refused_") and count}


def test_a_url_is_admitted_once_within_a_batch_and_across_checkpoints_and_restarts() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/x", "/x", "/y"), links("a.example", "/y")], T0)
        rig.commit()
        rig.frontier.discover([links("a.example", "/x")], T0)
        rig.restart()
        rig.frontier.discover([links("a.example", "/y", "/z")], T0)
        assert rig.counters["admitted"] == 3
        assert rig.counters["duplicates"] == 3
        assert rig.counters["queued"] == 3


def test_a_server_is_counted_with_its_first_url_whatever_happens_in_between() -> None:
    with Rig(configure(crawl={"max_depth": 2})) as rig:
        rig.frontier.discover([links("a.example", "/x"), links("b.example", "/x"), links("a.example", "/y")], T0)
        rig.frontier.discover([links("deep.example", "/x", depth=3), links("trap.example", "/" + "x" * 1800)], T0)
        assert rig.counters["servers"] == 2, "one without an admitted URL is none"
        rig.abort()
        assert "servers" not in rig.counters
        rig.frontier.discover([links("a.example", "/x"), links("b.example", "/x")], T0)
        rig.commit()
        rig.restart()
        rig.frontier.discover([links("a.example", "/z"), links("c.example", "/")], T0)
        rig.commit()
        rig.move()
        rig.frontier.discover([links("c.example", "/z")], T0)
        assert rig.counters["servers"] == 3


def test_a_partition_from_before_servers_were_counted_does_not_begin_to_count_them() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/x")], T0)
        del rig.counters["servers"]
        rig.commit()
        rig.restart()
        rig.frontier.discover([links("b.example", "/x")], T0)
        assert "servers" not in rig.counters


def test_the_same_path_under_another_scheme_or_server_is_another_url() -> None:
    with Rig() as rig:
        found = [links("a.example", "/"), links("a.example", "/", scheme="https"), links("b.example", "/")]
        rig.frontier.discover(found, T0)
        assert rig.counters["admitted"] == 3


@pytest.mark.parametrize(
    ("config", "facts", "reason"),
    [
        ({"crawl": {"follow_links": False}}, {"depth": 1}, "not-followed"),
        ({"crawl": {"follow_links": False}}, {"kind": "sitemap", "depth": 1}, "not-followed"),
        ({"crawl": {"max_depth": 2}}, {"depth": 3}, "depth"),
        ({"crawl": {"max_hops": 2}}, {"hops": 3}, "hops"),
        ({"frontier": {"max_off_site": 2}}, {"off_site": 3}, "off-site"),
        ({}, {"redirects": 6, "kind": "redirect"}, "redirects"),
        ({"crawl": {"scope": "hosts"}}, {}, "scope"),
    ],
)
def test_a_record_beyond_a_limit_is_refused_and_its_urls_stay_unknown(
    config: dict[str, dict[str, Any]], facts: dict[str, Any], reason: str
) -> None:
    with Rig(configure(**config)) as rig:
        rig.frontier.discover([links("a.example", "/x", "/y", **facts)], T0)
        assert refused(rig) == {reason: 2}
        rig.frontier.discover([links("a.example", "/x", kind="seed", depth=1, hops=0)], T0)
        assert rig.counters["admitted"] == 1


def test_without_links_seeds_their_redirects_and_what_pages_need_are_admitted() -> None:
    with Rig(configure(crawl={"follow_links": False})) as rig:
        found = [links("a.example", f"/{kind}", kind=kind) for kind in ("seed", "redirect", "requisite")]
        rig.frontier.discover([*found, links("a.example", "/refresh", kind="refresh")], T0)
        assert rig.counters["admitted"] == 3
        assert refused(rig) == {"not-followed": 1}


def test_a_seed_and_the_target_of_its_redirect_bring_their_servers_into_the_scope() -> None:
    with Rig(configure(crawl={"scope": "hosts"})) as rig:
        seed = Discovered(server="example.com", paths=("/",), kind="seed")
        target = links("www.example.com", "/", kind="redirect", hops=0, redirects=1, referrer="https://example.com/")
        rig.frontier.discover([seed, target, links("www.example.com", "/deep"), links("other.example", "/")], T0)
        assert rig.counters["admitted"] == 3
        assert refused(rig) == {"scope": 1}
        said = [decode_verdict(output.value) for output in rig.frontier.verdicts()]
        assert ("www.example.com", "scope-widened") in [(one.server, one.reason) for one in said]
        rig.commit()
        rig.restart()
        rig.frontier.discover([links("www.example.com", "/later")], T0)
        assert rig.counters["admitted"] == 4


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/" + "x" * 1800, "too-long"),
        ("no-slash", "invalid"),
        ("/a/b/a/b/a/b/a/b/a/b", "repeated-segments"),
    ],
)
def test_a_path_that_looks_like_a_trap_is_refused_once_and_known_afterwards(path: str, reason: str) -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", path, "/fine")], T0)
        rig.commit()
        rig.frontier.discover([links("a.example", path)], T0)
        assert refused(rig) == {reason: 1}
        assert rig.counters["duplicates"] == 1
        assert [paths_of(order) for order in rig.frontier.dispatch(T0)] == [["/fine"]]


def test_query_variants_of_one_path_are_limited_and_other_paths_are_not() -> None:
    with Rig(configure(traps={"query_variants": 5})) as rig:
        calendar = links("a.example", *(f"/calendar?day={day}" for day in range(20)))
        rig.frontier.discover([calendar, links("a.example", "/page?id=1", "/page")], T0)
        assert refused(rig) == {"query-variants": 15}
        assert rig.counters["admitted"] == 7


def test_the_table_of_query_variants_is_bounded_and_still_finds_the_path_that_dominates() -> None:
    with Rig(configure(traps={"query_variants": 100})) as rig:
        for number in range(150):
            scattered = (f"/p{number}-{part}?x=1" for part in range(3))
            rig.frontier.discover([links("a.example", f"/trap?n={number}", *scattered)], T0)
        live = rig.frontier.state.servers.open(b"a.example")
        assert len(live.record.variants) <= 32
        assert 0 < rig.counters["refused_query-variants"] <= 50, "never before its limit, and found among the others"


def test_a_directory_of_identical_pages_is_closed_and_its_neighbours_are_not() -> None:
    with Rig(configure(traps={"identical_pages": 10}, fetch={"urls_per_order": 100})) as rig:
        rig.frontier.discover([links("a.example", *(f"/same/{n}" for n in range(20)), "/other/1")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, digest="ab" * 16), T0)
        rig.frontier.discover([links("a.example", "/same/new", "/other/new")], T0)
        assert refused(rig) == {"identical-pages": 1}


def test_a_directory_of_different_pages_stays_open() -> None:
    with Rig(configure(traps={"identical_pages": 10}, fetch={"urls_per_order": 1})) as rig:
        rig.frontier.discover([links("a.example", *(f"/all/{n}" for n in range(30)))], T0)
        for number in range(30):
            (order,) = rig.frontier.dispatch(T0)
            rig.frontier.confirm(answer(order, digest=f"{number:08x}" * 4), T0)
        rig.frontier.discover([links("a.example", "/all/new")], T0)
        assert not refused(rig)


def test_a_servers_budget_is_exact_across_batches_and_restarts() -> None:
    with Rig(configure(crawl={"server_budget": 3})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        rig.commit()
        rig.restart()
        rig.frontier.discover([links("a.example", "/3", "/4", "/5"), links("b.example", "/1")], T0)
        assert rig.counters["admitted"] == 4
        assert refused(rig) == {"budget": 2}


def test_a_domains_servers_share_its_budget_when_partitions_are_split_by_domain() -> None:
    config = configure(crawl={"server_budget": 3}, partitions={"partition_by": "domain"})
    with Rig(config) as rig:
        rig.frontier.discover([links("a.example.com", "/1", "/2")], T0)
        rig.commit()
        rig.restart()
        rig.frontier.discover([links("b.example.com", "/1", "/2"), links("example.org", "/1")], T0)
        assert rig.counters["admitted"] == 4
        assert refused(rig) == {"budget": 1}


def test_a_trap_cannot_flood_the_verdicts_and_the_counts_stay_exact() -> None:
    with Rig(configure(crawl={"max_depth": 1}, frontier={"verdicts_per_checkpoint": 10})) as rig:
        for server in range(50):
            rig.frontier.discover([links(f"s{server}.example", *(f"/{n}" for n in range(100)))], T0)
        said = [decode_verdict(output.value) for output in rig.frontier.verdicts()]
        assert len(said) == 10
        assert {one.count for one in said} == {100}
        assert refused(rig) == {"depth": 5000}
        rig.commit()
        assert rig.frontier.verdicts() == []


def test_a_record_with_an_impossible_server_name_is_refused() -> None:
    with Rig() as rig:
        names = ("", "a\0b", "x" * 400, "[", "UPPER.example", "a b", "user@host", "h:80", "h/path")
        rig.frontier.discover([links(name, "/") for name in names], T0)
        assert refused(rig) == {"invalid": len(names)}
        assert rig.frontier.dispatch(T0) == []
        rig.commit()
        rig.move()


def test_link_count_moves_a_url_that_is_found_often_to_the_front() -> None:
    config = configure(frontier={"priority": "link-count"}, fetch={"urls_per_order": 1})
    with Rig(config) as rig:
        rig.frontier.discover([links("a.example", *(f"/{n}" for n in range(50)))], T0)
        rig.commit()
        rig.frontier.discover([links("a.example", "/33", counts=(200,))], T0)
        rig.commit()
        rig.move()
        assert rig.counters["promoted"] == 1
        assert rig.counters["queued"] == 50
        (order,) = rig.frontier.dispatch(T0)
        assert paths_of(order) == ["/33"]
        seen = {"/33"}
        while True:
            rig.frontier.confirm(answer(order), T0)
            orders = rig.frontier.dispatch(T0)
            if not orders:
                break
            (order,) = orders
            assert not seen & set(paths_of(order))
            seen |= set(paths_of(order))
        assert len(seen) == 50


def test_link_count_finds_a_url_again_that_was_in_its_first_batch_twice() -> None:
    config = configure(frontier={"priority": "link-count"}, fetch={"urls_per_order": 1})
    with Rig(config) as rig:
        others = links("a.example", *(f"/{n}" for n in range(50)))
        often = links("a.example", "/33", "/34", counts=(200, 1), depth=1)
        rig.frontier.discover([others, often, links("a.example", "/35", "/35", counts=(2, 150))], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert paths_of(order) == ["/33"], "the most often found of its depth, which is that of its first discovery"
        rig.frontier.confirm(answer(order), T0)
        rig.commit()
        rig.frontier.discover([links("a.example", "/34", counts=(5000,))], T0)
        rig.commit()
        rig.move()
        assert (rig.counters["promoted"], rig.counters["queued"]) == (1, 49)
        ordered = []
        for _ in range(2):
            (order,) = rig.frontier.dispatch(T0)
            ordered += paths_of(order)
            rig.frontier.confirm(answer(order), T0)
        assert ordered == ["/34", "/35"]
