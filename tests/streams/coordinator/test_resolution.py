"""Names are resolved before their sites are placed: bounded, durable, again after a failure; by a real name server on loopback."""

import socket
from collections.abc import Sequence
from contextlib import closing

import pytest

from schemas.sites import SiteState
from streams.coordinator.name_lookup import TRIES, Answer, DnsLookup
from tests.chaos.processes import until
from tests.hostile.names import A, NameServer
from tests.hostile.web import Web
from tests.streams.coordinator.rig import Names, Rig, command, configure, found
from tests.streams.coordinator.test_stage import home_of

HOUR_MS = 3600 * 1000


def states(rig: Rig) -> dict[str, SiteState]:
    return {site: row.state for site, row in rig.rows.items()}


def rig_with(names: Names, **settings: object) -> Rig:
    return Rig(configure(resolve=True, **settings), names)


def answers_of(lookup: DnsLookup) -> list[Answer]:
    """The next ones."""
    answers: list[Answer] = []

    def came() -> bool:
        answers.extend(lookup.answers())
        return bool(answers)

    until(came, "there is an answer", every=0.01)
    return answers


def test_a_site_is_placed_when_its_name_has_an_address() -> None:
    with rig_with(names := Names()) as rig:
        rig.do(found("a.example"))
        slot = rig.rows["a.example"].slot
        assert states(rig) == {"a.example": "found"}
        assert rig.latest == rig.rows
        assert not rig.told_of("a.example", home_of("a.example")), "its home has no answer yet"
        rig.step()
        assert names.servers == {"a.example": ("a.example",)}
        names.answer("a.example")
        rig.step()
        row = rig.rows["a.example"]
        assert (row.state, row.slot, row.version) == ("placed", slot, 2)
        assert [one.state for one in rig.told_of("a.example", slot)] == ["placed"]
        assert [root.server for root in rig.roots(slot)] == ["a.example"]
        assert (rig.counters["sites_found"], rig.counters["sites_placed"]) == (0, 1)


def test_a_name_without_an_address_is_a_verdict_and_asked_for_again_later() -> None:
    with rig_with(names := Names(), resolve_again_hours=6.0) as rig:
        rig.do(found("a.example"))
        rig.step()
        names.answer("a.example", "a.example: not found")
        rig.step()
        row = rig.rows["a.example"]
        assert (row.state, row.detail) == ("unresolvable", "a.example: not found")
        assert [one.state for one in rig.told_of("a.example", home_of("a.example"))] == ["unresolvable"]
        assert [(one.reason, one.kind) for one in rig.verdicts] == [("unresolvable", "delayed")]
        rig.now += 5 * HOUR_MS
        rig.step()
        assert not names.asked
        rig.now += HOUR_MS
        rig.restart()
        rig.step()
        names.answer("a.example", "still not")
        rig.step()
        assert rig.rows["a.example"] == row, "nothing has changed"
        rig.now += 6 * HOUR_MS
        rig.step()
        names.answer("a.example")
        rig.step()
        assert (rig.rows["a.example"].state, rig.rows["a.example"].detail) == ("placed", "")
        assert len(rig.verdicts) == 1


def test_whoever_approves_a_name_without_an_address_has_it_asked_for_at_once() -> None:
    with rig_with(names := Names()) as rig:
        rig.do(found("a.example"))
        rig.step()
        names.answer("a.example", "no")
        rig.step()
        rig.do(command("approve", "a.example"))
        rig.step()
        assert list(names.asked.values()) == ["a.example"]


def test_no_more_names_are_asked_for_at_once_than_wanted_and_the_first_to_come_go_first() -> None:
    sites = [f"{letter}.example" for letter in "zyxwvutsrq"]
    with rig_with(names := Names(), resolve_at_once=3) as rig:
        rig.do(found(*sites))
        placed: list[str] = []
        while len(placed) < len(sites):
            rig.step()
            placed.append(next(iter(names.asked.values())))
            names.answer(placed[-1])
        rig.step()
        assert names.most == 3
        assert placed == sites
        assert set(states(rig).values()) == {"placed"}


def test_a_restart_asks_again_for_what_was_not_answered() -> None:
    with rig_with(names := Names()) as rig:
        rig.do(found("a.example", "b.example"))
        rig.step()
        rig.move()
        assert not names.asked
        rig.step()
        assert sorted(names.asked.values()) == ["a.example", "b.example"]


def test_an_answer_whose_commit_failed_is_asked_for_again() -> None:
    with rig_with(names := Names()) as rig:
        rig.do(found("a.example"))
        rig.step()
        names.answer("a.example")
        rig.read(0)
        rig.abort()
        assert states(rig) == {"a.example": "found"}
        rig.step()
        assert list(names.asked.values()) == ["a.example"]
        names.answer("a.example")
        rig.step()
        assert states(rig) == {"a.example": "placed"}


def test_a_site_that_was_blocked_meanwhile_stays_blocked() -> None:
    with rig_with(names := Names()) as rig:
        rig.do(found("a.example"))
        rig.step()
        rig.do(command("block", "a.example"))
        names.answer("a.example")
        rig.step()
        assert states(rig) == {"a.example": "blocked"}
        rig.do(command("approve", "a.example"))
        assert states(rig) == {"a.example": "found"}
        rig.step()
        names.answer("a.example")
        rig.step()
        assert states(rig) == {"a.example": "placed"}
        assert len(rig.roots(rig.rows["a.example"].slot)) == 1


@pytest.mark.parametrize("admit", ["all", "approved"])
def test_home_hears_that_a_site_is_approved_also_while_its_name_is_resolved(admit: str) -> None:
    with rig_with(Names(), admit=admit) as rig:
        rig.do(found("a.example"))
        rig.do(command("block", "a.example"))
        rig.do(command("approve", "a.example"))
        assert states(rig) == {"a.example": "found"}
        row = rig.told_of("a.example", home_of("a.example"))[-1]
        assert (row.state, row.version) == ("found", rig.rows["a.example"].version)


def test_once_no_name_is_resolved_any_more_sites_that_waited_for_an_address_are_placed() -> None:
    sites = [f"s{number}.example" for number in range(100)]
    with rig_with(names := Names()) as rig:
        rig.do(found(*sites))
        rig.step()
        names.answer(sites[0], "no")
        rig.step()
        rig.config, rig.names = configure(resolve=False), None
        rig.restart()
        while rig.stage.next_due_ms() is not None:
            assert rig.stage.next_due_ms() == rig.now
            rig.step()
        assert states(rig) == dict.fromkeys(sites, "placed")
        assert sum(len(rig.roots(slot)) for slot in rig.discovered) == len(sites)


def test_a_domain_is_there_when_its_first_server_is_or_when_it_is_itself() -> None:
    with Rig(configure(resolve=True, partition_by="domain"), names := Names()) as rig:
        rig.do(found("example.org", server="www.example.org:8080"))
        rig.step()
        assert names.servers == {"example.org": ("www.example.org:8080", "example.org")}


@pytest.mark.parametrize(
    ("servers", "failed", "asked"),
    [
        (("there.example:8080",), False, 1),
        (("late.example",), False, 2),
        (("never.example",), True, TRIES),
        (("never.example", "there.example"), False, 1),
    ],
)
def test_a_real_name_server_is_asked_three_times_before_a_name_counts_as_without(
    servers: Sequence[str], failed: bool, asked: int
) -> None:
    def zone(name: str, times: int) -> Sequence[str] | None:
        there = name == "there.example" or (name == "late.example" and times)
        return ["127.0.0.1", "::1"] if there else None

    with closing(Web()) as web:
        server = NameServer(zone)
        server.open(web)
        lookup = DnsLookup((f"127.0.0.1:{server.port}",), pause_s=0.01)
        try:
            lookup.ask(b"token", "site", servers)
            answers = answers_of(lookup)
        finally:
            lookup.close()
            server.close(web)
    assert [(one.token, one.site, bool(one.failure)) for one in answers] == [(b"token", "site", failed)]
    first = servers[0].partition(":")[0]
    assert sum(1 for question in server.asked if question == (first, A)) == asked


def test_name_servers_that_do_not_answer_hold_nothing_up() -> None:
    """Nobody listens there, or somebody does and says nothing: both within the patience."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        lookup = DnsLookup((f"127.0.0.1:{silent.getsockname()[1]}",), pause_s=0.01, patience_s=0.1)
        try:
            lookup.ask(b"token", "site", ("a.example",))
            answers = answers_of(lookup)
        finally:
            lookup.close()
    assert "no name server answered" in answers[0].failure
