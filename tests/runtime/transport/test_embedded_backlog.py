"""Who writes a topic waits while its slowest reader is too far behind, and for nobody else."""

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from gregor.errors import UnknownOutcome
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import Batch, Output, Session
from tests.runtime.transport.embedded_folder import SETTINGS, opened
from tests.runtime.transport.embedded_harness import EmbeddedHarness
from tests.runtime.transport.member import EXTRACTOR, FETCHER, STAGES, Member, settle
from tests.runtime.transport.test_embedded_session import ARCHIVER, commit_pages

BOUNDED = replace(SETTINGS, most_unread_records=10, most_unread_bytes=10_000)


def orders(transport: EmbeddedTransport, count: int) -> None:
    transport.append([Output("schedule", number % 2, b"", b"order") for number in range(count)])


def pages(transport: EmbeddedTransport, count: int, size: int = 1) -> None:
    transport.append([Output("pages", 0, b"", bytes(size)) for _ in range(count)])


def taken(session: Session, wait: float = 0.0) -> int:
    """Records of the next batch."""
    event = session.poll(1, 1 << 20, wait)
    while not isinstance(event, Batch):
        event = session.poll(1, 1 << 20, wait)
    return len(event.records)


def test_the_writer_is_given_nothing_until_the_slowest_reader_has_caught_up(tmp_path: Path) -> None:
    with opened(tmp_path, BOUNDED, (FETCHER, EXTRACTOR, ARCHIVER)) as transport:
        fetcher, extractor, archiver = (transport.open(stage) for stage in (FETCHER, EXTRACTOR, ARCHIVER))
        orders(transport, 10)
        pages(transport, 10)
        assert taken(fetcher) == 1, "as many as may wait"
        pages(transport, 1)
        assert taken(fetcher) == 0
        assert taken(extractor) == taken(archiver) == 1, "readers wait for nobody"
        commit_pages(extractor, 11)
        assert taken(fetcher) == 0, "the archiver has not passed any"
        commit_pages(archiver, 1)
        assert taken(fetcher) == 1


def test_large_records_fill_the_bound_before_they_are_many(tmp_path: Path) -> None:
    with opened(tmp_path, BOUNDED, (FETCHER, EXTRACTOR)) as transport:
        fetcher, extractor = transport.open(FETCHER), transport.open(EXTRACTOR)
        orders(transport, 10)
        pages(transport, 1, 9_000)
        assert taken(fetcher) == 1
        pages(transport, 1, 9_000)
        assert taken(fetcher) == 0
        commit_pages(extractor, 1)
        assert taken(fetcher) == 1


def test_the_bound_holds_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path, BOUNDED, (FETCHER, EXTRACTOR)) as transport:
        orders(transport, 10)
        pages(transport, 12)
        commit_pages(transport.open(EXTRACTOR), 1)
    with opened(tmp_path, BOUNDED, (FETCHER, EXTRACTOR)) as transport:
        fetcher, extractor = transport.open(FETCHER), transport.open(EXTRACTOR)
        assert taken(fetcher) == 0
        commit_pages(extractor, 12)
        assert taken(fetcher) == 1


@pytest.mark.parametrize("happened", [False, True])
def test_the_bound_is_right_when_it_was_not_known_what_was_written(tmp_path: Path, happened: bool) -> None:
    harness = EmbeddedHarness(tmp_path, most_unread_records=10, most_unread_bytes=10_000)
    fetcher, extractor = Member(harness, FETCHER), Member(harness, EXTRACTOR)
    settle(fetcher)
    settle(extractor)
    orders(harness.transport, 4)
    harness.lose_answer(fetcher.session, happened=happened)
    with pytest.raises(UnknownOutcome):
        fetcher.commit([Output("pages", 0, b"", b"page") for _ in range(11)])
    settle(fetcher)
    assert bool(taken(fetcher.session)) is not happened
    harness.close()


def test_a_writer_that_waits_goes_on_when_the_reader_commits(tmp_path: Path) -> None:
    with opened(tmp_path, BOUNDED, (FETCHER, EXTRACTOR)) as transport:
        fetcher, extractor = transport.open(FETCHER), transport.open(EXTRACTOR)
        orders(transport, 2)
        pages(transport, 11)
        assert taken(fetcher) == 0
        got: list[int] = []
        waiting = threading.Thread(target=lambda: got.append(taken(fetcher, wait=3600.0)))
        waiting.start()
        commit_pages(extractor, 11)
        waiting.join()
        assert got == [1]


def test_a_reader_that_does_not_run_here_any_more_is_not_waited_for(tmp_path: Path) -> None:
    with opened(tmp_path, BOUNDED, (FETCHER, EXTRACTOR, ARCHIVER)) as transport:
        commit_pages(transport.open(ARCHIVER), 0)
    with opened(tmp_path, BOUNDED, (FETCHER, EXTRACTOR)) as transport:
        fetcher, extractor = transport.open(FETCHER), transport.open(EXTRACTOR)
        orders(transport, 2)
        pages(transport, 11)
        commit_pages(extractor, 11)
        assert taken(fetcher) == 1


def test_without_a_bound_nobody_waits(tmp_path: Path) -> None:
    with opened(tmp_path, SETTINGS, STAGES) as transport:
        fetcher = transport.open(FETCHER)
        orders(transport, 2)
        pages(transport, 100_000)
        assert taken(fetcher) == 1
