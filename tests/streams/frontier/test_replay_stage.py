"""A frontier that decides a recorded crawl again."""

from gregor.runtime.loops.contract import Received
from gregor.runtime.transport.port import Assignment, Record
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.discovered import Discovered
from streams.frontier.dispatch.dispatch import Quota, queue_due
from streams.frontier.replay.orders import EARLY_MS, PastOrder, PastUrl, order_again
from streams.frontier.replay.stage import RepeatedFrontier
from tests.streams.frontier.rig import T0, Rig, answer, configure, links

SERVER = "a.example"


def test_a_report_of_repetitions_is_about_what_was_found_just_before_it_and_discovers_nothing() -> None:
    history = [
        Discovered(server=SERVER, paths=("/1", "/2")),
        Discovered(server=SERVER, paths=("/1", "/3"), counts=(5, 7), kind="repetition"),
        Discovered(server=SERVER, paths=("/3",)),
        Discovered(server=SERVER, paths=("/2", "/3"), counts=(2, 2), kind="repetition"),
    ]
    received = [
        Received(Record("discovered", 0, number, b"", encode(found), None, T0), found)
        for number, found in enumerate(history)
    ]
    with Rig() as rig:
        frontier = RepeatedFrontier(rig.config, HashPlacement(16, 1), orders_after=None)
        frontier.assigned(0, Assignment(positions={}, ends={}, state=rig.replica.reader))
        frontier.process(received, T0)
        counts = frontier.counters()[0]
    assert (counts["admitted"], counts["refused_repetition"]) == (3, 1)
    assert counts["discovered"] == counts["admitted"] + counts["duplicates"] + counts["refused_repetition"]


def test_what_is_hastened_after_an_order_came_before_its_time_is_due_behind_it() -> None:
    hours = 3_600_000
    with Rig(configure(revisit={"mode": "fixed", "interval_hours": 2.0})) as rig:
        for path, now in (("/1", T0), ("/2", T0 + hours)):
            rig.frontier.discover([links(SERVER, path)], now)
            (order,) = rig.frontier.dispatch(now)
            rig.frontier.confirm(answer(order), now)
            rig.commit()
        now = T0 + 2 * hours - EARLY_MS + 1000
        early = PastOrder(SERVER, 3, "pages", (PastUrl("http", "/1", 2),), now)
        assert order_again(rig.frontier.state, early, rig.frontier.state.clock(now), Quota(1)) == 0
        rig.commit()
        rig.frontier.discover([links(SERVER, "/2", kind="sitemap", lastmods_ms=(now,))], now)
        assert rig.counters["hastened"] == 1
        rig.commit()
        rig.move()
        queue_due(rig.frontier.state, now + EARLY_MS)
        assert (rig.counters["queued"], rig.counters["revisiting"]) == (1, 0)
