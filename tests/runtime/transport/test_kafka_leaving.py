"""A consumer that never finishes closing keeps nobody from ending. How librdkafka comes to that is its own affair: here it is made to."""

import logging
import threading

import pytest

from gregor.runtime.transport.kafka import session


class Stuck:
    """Closes when the test lets it."""

    def __init__(self) -> None:
        self.closing, self.let = threading.Event(), threading.Event()

    def close(self) -> None:
        self.closing.set()
        self.let.wait()


def test_a_consumer_that_does_not_close_is_left_behind_and_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(session, "CLOSING_S", 0.2)
    stuck = Stuck()
    with caplog.at_level(logging.WARNING):
        session.leave(stuck)
    assert stuck.closing.is_set()
    assert "left behind" in caplog.text
    stuck.let.set()


def test_one_that_closes_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    one = Stuck()
    one.let.set()
    with caplog.at_level(logging.WARNING):
        session.leave(one)
    assert one.closing.is_set()
    assert not caplog.text
