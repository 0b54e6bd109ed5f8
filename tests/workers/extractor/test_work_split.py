"""Pages shared between processes."""

import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.extractor.staged import staged
from workers.extractor import readers
from workers.extractor.stage import WORTH_A_PROCESS
from workers.extractor.work_split import LARGE, share

SIZES = st.lists(st.sampled_from([0, 1, LARGE - 1, LARGE, 3 * LARGE]), max_size=30)


def twice(number: int) -> int:
    return number * 2


@given(SIZES, st.integers(0, 3))
def test_each_page_is_read_once_and_answered_in_its_place(sizes: list[int], helpers: int) -> None:
    read: list[int] = []

    def noted(number: int) -> int:
        read.append(number)
        return twice(number)

    assert share(sizes, noted, noted, lambda: helpers) == [twice(number) for number in range(len(sizes))]
    assert sorted(read) == list(range(len(sizes)))


def test_small_pages_stay_here_and_a_helper_takes_a_large_one() -> None:
    taken = threading.Event()

    def elsewhere(number: int) -> str:
        taken.set()
        return "elsewhere"

    def here(number: int) -> str:
        # Whoever reads here waits until the helper has begun with a large one.
        assert taken.wait(60)
        return "here"

    answers = share([1, LARGE, 5 * LARGE, 2], here, elsewhere, lambda: 1)
    assert (answers[0], answers[2], answers[3]) == ("here", "elsewhere", "here")


def test_without_helpers_everything_is_read_here() -> None:
    assert share([1, LARGE], lambda number: "here", lambda number: "elsewhere", lambda: 0) == ["here", "here"]


def test_what_goes_wrong_elsewhere_is_raised_here() -> None:
    taken = threading.Event()

    def broken(number: int) -> int:
        taken.set()
        raise RuntimeError("no process")

    with pytest.raises(RuntimeError, match="no process"):
        share([1, LARGE], lambda number: taken.wait(60), broken, lambda: 1)


def test_no_process_is_started_before_there_was_enough_for_one_to_do(tmp_path: Path) -> None:
    with staged(tmp_path, "extract.processes = 1") as stage:
        for _ in range(10):
            stage.pages(["x" * LARGE] * 10)
            assert stage.stage.helpers() == 0
        time.sleep(0.5)
        assert stage.stage.helpers() == 0


def test_a_process_beside_the_stage_gives_the_same_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The native reader is so fast that none is started.
    monkeypatch.setattr(readers, "READER", "python")
    size = WORTH_A_PROCESS // 15
    bodies = [f"<title>{n}</title><a href=/{n}>x</a><a href=/{n + 1}>x</a>" + "x" * size * (n % 2) for n in range(30)]
    results = []
    for processes in (0, 2):
        with staged(tmp_path, f'extract.processes = {processes}\nextract.page_facts = ["title"]') as stage:
            stage.pages(bodies)
            if processes:
                # What was read so far did not wait for them.
                while stage.stage.helpers() < processes:
                    time.sleep(0.01)
                stage.pages(bodies)
                assert stage.stage.helpers() == processes
            results.append((stage.discovered(), [item.fields for item in stage.items()]))
    assert len(results[0][1]) == len(bodies)
    assert results[1] == (results[0][0], results[0][1] * 2)
