"""What the line of progress says of a crawl, and what it keeps to itself."""

from pathlib import Path

import pytest

from gregor.cli.progress import ProgressDisplay, progress_line
from gregor.run.progress import HOUR_MS, Progress, look, waits_too_long_ms
from tests.operate.desk import PARTITIONS, SPECS, embedded, pass_all

AT_WORK = {"admitted": 9, "confirmed": 4, "queued": 5, "servers": 2}


def line(counters: dict[str, int]) -> str:
    watching = ProgressDisplay(0, as_json=False)
    watching.show(Progress({}, {}, {"confirmed": 0}))
    seen = Progress({}, {}, counters)
    watching.show(seen)
    return progress_line(watching.figures(seen))


def test_servers_are_told_where_they_were_counted() -> None:
    assert ", 2 servers" in line(AT_WORK)
    assert ", 1 server," in line({**AT_WORK, "servers": 1})
    assert "server" not in line({name: count for name, count in AT_WORK.items() if name != "servers"})


def test_servers_are_added_up_unless_a_partition_never_counted_its_own(tmp_path: Path) -> None:
    with embedded(tmp_path / "crawl") as transport:
        pass_all(transport, "frontier", {0: {"admitted": 3, "servers": 2}, 1: {"admitted": 0}})
        assert look(transport, SPECS, PARTITIONS).counters["servers"] == 2, "the other has none to count"
        pass_all(transport, "frontier", {0: {"admitted": 3, "servers": 2}, 1: {"admitted": 7}})
        assert "servers" not in look(transport, SPECS, PARTITIONS).counters


def test_a_paused_crawl_says_so_and_claims_no_time_left() -> None:
    assert line(AT_WORK).endswith("left for what is known")
    said = line({**AT_WORK, "paused": 2})
    assert said == "4 fetched, 5 queued, 0 in flight, paused; `gregor resume` lets it go on"
    watching = ProgressDisplay(0, as_json=True)
    paused = Progress({}, {}, {**AT_WORK, "paused": 2})
    watching.show(Progress({}, {}, {}))
    watching.show(paused)
    assert (watching.figures(paused)["paused"], watching.figures(paused)["left_s"]) == (True, None)


WAITS = {**AT_WORK, "due_next_ms": 10**13}


def test_a_crawl_that_waits_for_its_servers_says_before_when_nothing_is_due() -> None:
    assert "nothing is due before 22" in line(WAITS)
    assert "nothing is due" not in line({**WAITS, "due_next_ms": 10**12})


@pytest.mark.parametrize(
    ("counters", "lag"),
    [
        (AT_WORK, {}),
        ({**WAITS, "leased": 1}, {}),
        ({**WAITS, "paused": 1}, {}),
        ({**WAITS, "servers_paused": 1}, {}),
        ({**WAITS, "revisiting": 1}, {}),
        ({**WAITS, "queued": 0}, {}),
        ({**WAITS, "held": 5}, {}),
        (WAITS, {"fetcher": 1}),
        ({**WAITS, "due_next_ms": 5 + 24 * HOUR_MS}, {}),
    ],
)
def test_a_crawl_goes_on_while_anything_but_a_time_that_is_far_away_is_waited_for(
    counters: dict[str, int], lag: dict[str, int]
) -> None:
    far, seen = Progress({}, {}, WAITS), Progress({}, lag, counters)
    assert waits_too_long_ms(far, far, 5, 24.0) == 10**13
    assert waits_too_long_ms(seen, seen, 5, 24.0) == 0
    assert waits_too_long_ms(seen, far, 5, 24.0) == 0, "one look is not enough"
    assert waits_too_long_ms(far, far, 5, 0.0) == 0, "no limit"


def test_what_is_due_next_is_told_unless_a_partition_does_not_say_it(tmp_path: Path) -> None:
    with embedded(tmp_path / "crawl") as transport:
        pass_all(transport, "frontier", {0: {"queued": 3, "due_next_ms": 90}, 1: {"queued": 1, "due_next_ms": 80}})
        assert look(transport, SPECS, PARTITIONS).next_ms == 80
        pass_all(transport, "frontier", {0: {"queued": 3, "due_next_ms": 90}, 1: {"queued": 1}})
        assert look(transport, SPECS, PARTITIONS).next_ms is None
        pass_all(transport, "frontier", {0: {"queued": 3, "due_next_ms": 90}, 1: {"confirmed": 1, "due_next_ms": 0}})
        assert look(transport, SPECS, PARTITIONS).next_ms == 90


def test_a_crawl_that_stays_says_once_that_nothing_is_left_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressDisplay(0, as_json=False).rest(Progress({}, {}, {"confirmed": 1234}))
    assert capsys.readouterr().err == (
        "1,234 fetched, nothing is left to do; `gregor seed` gives it more, Ctrl-C ends it\n"
    )
