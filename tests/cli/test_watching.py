"""What the line of progress says of a crawl, and what it keeps to itself."""

from pathlib import Path

import pytest

from gregor.cli.watching import Watching, progress_line
from gregor.pipeline.progress import Look, look
from tests.pipeline.operate.desk import PARTITIONS, SPECS, embedded, pass_all

AT_WORK = {"admitted": 9, "confirmed": 4, "queued": 5, "servers": 2}


def line(counters: dict[str, int]) -> str:
    watching = Watching(0, as_json=False)
    watching.show(Look({}, {}, {"confirmed": 0}))
    seen = Look({}, {}, counters)
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
    watching = Watching(0, as_json=True)
    paused = Look({}, {}, {**AT_WORK, "paused": 2})
    watching.show(Look({}, {}, {}))
    watching.show(paused)
    assert (watching.figures(paused)["paused"], watching.figures(paused)["left_s"]) == (True, None)


def test_a_crawl_that_stays_says_once_that_nothing_is_left_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    Watching(0, as_json=False).rest(Look({}, {}, {"confirmed": 1234}))
    assert capsys.readouterr().err == (
        "1,234 fetched, nothing is left to do; `gregor seed` gives it more, Ctrl-C ends it\n"
    )
