"""Arbitrary histories of one partition against the naive model: discoveries, results in time, late, twice or never, clock steps,
checkpoints, aborts, restarts and restores."""

from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gregor.runtime.state import snapshot
from schemas.discovered import Discovered
from schemas.fetched import FetchResult, Outcome, RobotsRules
from schemas.schedule import FetchOrder
from tests.streams.frontier.model import Model
from tests.streams.frontier.rig import T0, Rig, answer_with, configure, result_of

SERVERS = ("a.example", "b.example", "c.example:8080")
PATHS = ("/", "/a", "/b", "/private/x", "/private/y", "/c?q=1", "/c?q=2", "/d/e/f", "/g")
OUTCOMES: tuple[Outcome, ...] = (
    "ok",
    "ok",
    "ok",
    "ok",
    "ok",
    "not-modified",
    "redirect",
    "client-error",
    "server-error",
    "timeout",
    "rate-limited",
    "dns",
    "address-refused",
    "expired",
    "cancelled",
)
VERDICTS: tuple[Literal["rules", "allow-all", "refuse-all", "unreachable"], ...] = (
    "rules",
    "allow-all",
    "refuse-all",
    "unreachable",
)
JUDGED = (
    "discovered",
    "admitted",
    "duplicates",
    "refused_depth",
    "refused_budget",
    "results_ignored",
    "recrawled",
    "redirects_to_self",
)
STANDING = ("queued", "leased", "retrying", "revisiting", "confirmed", "failed", "dropped", "dropped_robots")

CONFIGS: tuple[dict[str, dict[str, Any]], ...] = (
    {},
    {"fetch": {"delay_s": 2.0, "orders_in_flight": 1}, "crawl": {"max_depth": 3}},
    {"robots": {"obey": True}, "retry": {"attempts": 1}},
    {"robots": {"obey": True}, "revisit": {"mode": "fixed", "interval_hours": 1.0}, "fetch": {"delay_s": 7.0}},
    {"crawl": {"server_budget": 5}, "retry": {"server_attempts": 2, "attempts": 1}, "fetch": {"orders_in_flight": 2}},
)

discoveries = st.builds(
    Discovered,
    server=st.sampled_from(SERVERS),
    paths=st.lists(st.sampled_from(PATHS), min_size=1, max_size=6).map(tuple),
    scheme=st.sampled_from(("http", "http", "https")),
    kind=st.sampled_from(("seed", "link", "link", "redirect")),
    depth=st.integers(1, 4),
    hops=st.just(1),
)


class Partition(RuleBasedStateMachine):
    """The real partition and the model, step by step."""

    @initialize(number=st.integers(0, len(CONFIGS) - 1))
    def begin(self, number: int) -> None:
        self.rig = Rig(configure(**{name: dict(keys) for name, keys in CONFIGS[number].items()}))
        self.model = Model(self.rig.config)
        self.now = T0
        self.known: list[FetchOrder] = []
        self.committed = 0
        self.fresh = True
        """Nothing has happened since the partition was opened: to open it again would show nothing."""

    @rule(batch=st.lists(discoveries, min_size=1, max_size=5))
    def discover(self, batch: list[Discovered]) -> None:
        self.fresh = False
        self.rig.frontier.discover(batch, self.now)
        for found in batch:
            self.model.discover(found, self.now)

    @rule()
    def dispatch(self) -> None:
        self.fresh = False
        orders = self.rig.frontier.dispatch(self.now)
        self.model.dispatch(orders, self.now)
        self.known += orders

    @rule(data=st.data())
    @precondition(lambda self: self.known)
    def answer(self, data: st.DataObject) -> None:
        """Any order that anybody may have seen, so that results come late and twice."""
        order = data.draw(st.sampled_from(self.known[-12:]))
        self._answer(order, data)

    @rule(data=st.data())
    @precondition(lambda self: self.model.state.leases)
    def answer_what_is_out(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(sorted(self.model.state.leases)))
        self._answer(self.model.state.leases[lease][0], data)

    def _answer(self, order: FetchOrder, data: st.DataObject) -> None:
        self.fresh = False
        results = []
        for number in range(len(order.urls)):
            outcome = data.draw(st.sampled_from(OUTCOMES))
            asked = data.draw(st.integers(0, 200)) * 1000 if outcome == "rate-limited" else 0
            facts: dict[str, Any] = {"retry_after_ms": asked, "digest": "aa" * 16}
            if outcome == "redirect":
                facts["location"] = data.draw(st.sampled_from((order.urls[number].path, "/elsewhere")))
                facts["cookies"] = data.draw(st.sampled_from(("", "seen=1")))
            if data.draw(st.integers(0, 9)):
                results.append(result_of(order, number, outcome, **facts))
        robots = tuple(self._rules(result, data) for result in results) if order.kind == "robots" else ()
        fetched = answer_with(order, tuple(data.draw(st.permutations(results))), robots)
        self.rig.frontier.confirm(fetched, self.now)
        self.model.confirm(fetched, self.now)

    def _rules(self, result: FetchResult, data: st.DataObject) -> RobotsRules:
        verdict = data.draw(st.sampled_from(VERDICTS))
        text = "user-agent: *\ndisallow: /private\n" if verdict == "rules" else ""
        delay = data.draw(st.sampled_from((0, 0, 3000)))
        return RobotsRules(scheme=result.scheme, verdict=verdict, text=text, crawl_delay_ms=delay)

    @rule(seconds=st.sampled_from((0.001, 0.5, 2.0, 30.0, 90.0, 600.0, 4000.0, 90_000.0, -5.0, -100_000.0)))
    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1000)

    @rule()
    def wait_until_something_is_due(self) -> None:
        due = self.rig.frontier.next_due_ms()
        if due is not None and due > self.now:
            self.now = due

    @rule()
    def commit(self) -> None:
        self.rig.commit()
        self.model.commit()
        self.committed = len(self.known)

    @rule()
    @precondition(lambda self: not self.fresh)
    def abort(self) -> None:
        self.rig.abort()
        self._forget()

    def _forget(self) -> None:
        """Orders that were not committed were seen by nobody, and their leases are given again."""
        self.model.abort()
        del self.known[self.committed :]

    def _begin_anew(self) -> None:
        self._forget()
        self.fresh = True
        # The clock is as of the last checkpoint that changed anything.
        facts = self.rig.frontier.state.facts
        assert facts.now_ms <= self.model.state.now
        self.model.state.now, self.model.state.told = facts.now_ms, facts.told_ms

    @rule()
    @precondition(lambda self: not self.fresh)
    def restart(self) -> None:
        self.rig.resume()
        self._begin_anew()

    @precondition(lambda self: not self.fresh)
    @rule(slice_length=st.integers(1, 9), truncated=st.booleans())
    def move_to_an_empty_folder(self, slice_length: int, truncated: bool) -> None:
        if truncated:
            self.rig.truncate()
        self.rig.move(slice_length)
        self._begin_anew()

    @invariant()
    def counts_agree(self) -> None:
        if not hasattr(self, "rig"):
            return
        expected, found = self.model.tally(), self.rig.counters
        for name in (*JUDGED, *STANDING):
            assert found.get(name, 0) == expected.get(name, 0), name
        ends = sum(found.get(name, 0) for name in ("queued", "leased", "retrying", "confirmed", "failed", "dropped"))
        assert found.get("admitted", 0) + found.get("recrawled", 0) == ends
        refused = sum(count for name, count in found.items() if name.startswith("refused_"))
        assert found.get("discovered", 0) == found.get("admitted", 0) + found.get("duplicates", 0) + refused

    def teardown(self) -> None:
        if hasattr(self, "rig"):
            self.rig.commit()
            self.rig.truncate()
            self.rig.move(3)
            self.rig.close()


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a commit has several."""
    monkeypatch.setattr(snapshot, "PIECE_BYTES", 60)


TestPartition = Partition.TestCase
TestPartition.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # A shorter failing history would take minutes of stores opened and restored.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
