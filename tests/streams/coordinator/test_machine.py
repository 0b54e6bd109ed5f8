"""Arbitrary histories of the coordinator against a dictionary: sites told in any order and again, commands, answers of name servers in any
order, checkpoints, aborts, restarts and restores from logs of which the beginning is gone."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gregor.runtime.state import snapshot
from gregor.url.fingerprint import partition_of
from schemas.sites_found import SiteCommand, SitesFound, decode_site_note
from tests.streams.coordinator.model import Model
from tests.streams.coordinator.rig import PARTITIONS, Names, Rig, command, configure, found

NAMES = ("a.example", "b.example", "c.example", "d.example", "127.0.0.1:8080")
CONFIGS: tuple[dict[str, Any], ...] = (
    {},
    {"assign": "least-loaded", "slots": 3},
    {"admit": "approved", "root_page": True},
    {"resolve": True, "resolve_at_once": 2, "resolve_again_hours": 1.0},
    {"resolve": True, "resolve_at_once": 3, "admit": "approved", "assign": "least-loaded"},
)
HOUR_MS = 3600 * 1000

sites = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5).map(tuple)


class Coordinator(RuleBasedStateMachine):
    """The real one and the model, step by step."""

    @initialize(number=st.integers(0, len(CONFIGS) - 1))
    def begin(self, number: int) -> None:
        config = configure(**CONFIGS[number])
        self.names = Names() if config.sites.resolve else None
        self.rig = Rig(config, self.names)
        self.model = Model(config, resolves=self.names is not None)
        self.committed = self.model.copy()
        self.judged = True

    def teardown(self) -> None:
        if hasattr(self, "rig"):
            self.settle()
            self.rig.close()

    def settle(self) -> None:
        """Everything is read and every name has an address: nothing is left that waits for one."""
        self.read(1000)
        self.commit()
        for _ in range(3 * len(NAMES)):
            for site in set(self.names.asked.values()) if self.names is not None else ():
                self.answer(site, failed=False)
            self.rig.now += 2 * HOUR_MS
            self.read(0)
            self.commit()
        self.equal()
        assert not {row.state for row in self.rig.rows.values()} & {"found", "unresolvable"}

    @rule(names=sites, home=st.integers(0, PARTITIONS - 1), load=st.integers(0, 50))
    def tell(self, names: tuple[str, ...], home: int, load: int) -> None:
        self.rig.tell(found(*names, home=home, load=load))

    @rule(
        action=st.sampled_from(("add", "approve", "block", "set")),
        names=sites,
        budget=st.sampled_from((None, 0, 5)),
        tags=st.sampled_from((None, (), ("b", "a"))),
        detail=st.sampled_from(("", "why")),
    )
    def decide(self, action: Any, names: tuple[str, ...], detail: str, **setting: Any) -> None:
        self.rig.tell(command(action, *names, detail=detail, **setting))

    @rule(slots=st.integers(-1, PARTITIONS + 1))
    def set_slots(self, slots: int) -> None:
        self.rig.tell(command("slots", slots=slots))

    @rule(answered=st.booleans(), failed=st.booleans())
    def go_on(self, answered: bool, failed: bool) -> None:
        """As it mostly goes: all is read and committed, and names are answered."""
        for site in set(self.names.asked.values()) if self.names is not None and answered else ():
            self.answer(site, failed)
        self.read(1000)
        self.commit()

    @rule(approved=st.booleans(), names=sites)
    def decide_at_once(self, approved: bool, names: tuple[str, ...]) -> None:
        self.rig.tell(command("approve" if approved else "block", *names))
        self.read(1000)
        self.commit()

    @rule()
    def tell_nonsense(self) -> None:
        self.rig.tell(b"nonsense", found("Not a site"), found("a.example", home=99), found("b.example", server="c"))

    @rule(most=st.integers(0, 4))
    def read(self, most: int) -> None:
        """Also by the model; then name servers' answers, in the order in which they came."""
        begin = self.rig.position
        ready = list(self.names._ready) if self.names is not None else []
        self.rig.read(most)
        for value in self.rig.inputs[begin : self.rig.position]:
            self._tell_model(value)
        for one in ready:
            self.model.answer(one.site, one.failure, self.rig.now)
        self.judged = False

    def _tell_model(self, value: bytes) -> None:
        if value == b"nonsense":
            return
        note = decode_site_note(value)
        if isinstance(note, SiteCommand):
            self.model.command(note)
        elif note.home < PARTITIONS:
            good = tuple(one for one in note.sites if one.site in NAMES and not one.server)
            self.model.found(SitesFound(home=note.home, load=note.load, sites=good))

    @rule(which=st.integers(0, 10), failed=st.booleans())
    def answer_some(self, which: int, failed: bool) -> None:
        asked = sorted(set(self.names.asked.values())) if self.names is not None else []
        if asked:
            self.answer(asked[which % len(asked)], failed)

    def answer(self, site: str, failed: bool) -> None:
        assert self.names is not None
        self.names.answer(site, "no address" if failed else "")

    @rule(hours=st.sampled_from((0.0, 0.3, 2.0)))
    def wait(self, hours: float) -> None:
        self.rig.now += int(hours * HOUR_MS)

    @rule()
    def commit(self) -> None:
        self.rig.commit()
        self.committed = self.model.copy()
        self.judged = True

    @rule()
    def abort(self) -> None:
        self.rig.abort()
        self.model = self.committed.copy()
        self.judged = True

    @rule()
    def restart(self) -> None:
        self.rig.restart()
        self.model = self.committed.copy()
        self.judged = True

    @rule()
    def restore(self) -> None:
        self.rig.truncate()
        self.rig.move()
        self.model = self.committed.copy()
        self.judged = True

    @invariant()
    def equal(self) -> None:
        if not getattr(self, "judged", False):
            return
        rig, model = self.rig, self.model
        assert rig.rows == model.rows
        assert rig.latest == rig.rows, "the topic is the registry"
        expected = model.counters()
        counted = {name: count for name, count in rig.counters.items() if name.startswith("sites_") and count}
        assert counted == {name: count for name, count in expected.items() if count}
        self._others_know()

    def _others_know(self) -> None:
        for site, row in self.rig.rows.items():
            home = partition_of(site, 64, PARTITIONS)
            granted = self.rig.told_of(site, row.slot)
            for partition in set(range(PARTITIONS)) - {home, row.slot}:
                assert not self.rig.told_of(site, partition)
            assert {one.slot for one in (*granted, *self.rig.told_of(site, home))} <= {row.slot}
            if row.state != "found":
                assert self.rig.told_of(site, home)[-1].version == row.version
            if site in self.model.placed_once and row.slot != home:
                assert (granted[-1].version, granted[-1].state) == (row.version, row.state)
            roots = [one.server for one in self.rig.roots(row.slot)].count(site)
            assert roots == (site in self.model.placed_once)
        if self.names is not None:
            assert self.names.most <= self.rig.config.sites.resolve_at_once


Coordinator.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)


class TestCoordinator(Coordinator.TestCase):  # type: ignore[misc, valid-type]
    """Run by pytest, with snapshot pieces so small that a cycle ends within a history."""

    @pytest.fixture(autouse=True)
    def small_pieces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(snapshot, "PIECE_BYTES", 200)
