"""A frontier that decides a recorded crawl again."""

from gregor.stage.contract import Received
from gregor.transport.port import Assignment, Record
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.discovered import Discovered
from streams.frontier.repeated import RepeatedFrontier
from tests.streams.frontier.rig import T0, Rig

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
