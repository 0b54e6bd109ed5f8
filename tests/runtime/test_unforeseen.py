"""What stands in the log of an exception that nobody foresaw."""

import logging

import pytest

from gregor.runtime.unforeseen import MOST_PLACES, tell_unforeseen

_log = logging.getLogger("gregor.test")


def tell(about: str, source: str = "raise KeyError('nobody')", file: str = "here.py") -> None:
    try:
        exec(compile(source, file, "exec"))
    except Exception as error:
        tell_unforeseen(_log, "a page could not be read", about, error)


def test_the_first_of_a_kind_has_its_traceback_and_the_others_are_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    for number in range(50):
        tell(f"http://h.example/{number}", file="first.py")
    assert [record.exc_info is not None for record in caplog.records] == [True] + [False] * 49
    assert caplog.messages[7] == "a page could not be read: http://h.example/7 (KeyError at first.py:1: 'nobody')"
    tell("http://h.example/", "\nraise KeyError(1)", "first.py")
    assert caplog.records[-1].exc_info, "another place is another fault"


def test_whoever_finds_ever_new_places_gets_no_more_than_some_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3 * MOST_PLACES):
        tell("http://h.example/", "\n" * number + "raise ValueError", "many.py")
    assert len([record for record in caplog.records if record.exc_info]) <= MOST_PLACES
    assert len(caplog.records) == 3 * MOST_PLACES


def test_a_line_stays_one_line_and_commands_no_terminal(caplog: pytest.LogCaptureFixture) -> None:
    tell("http://h.example/\n\x1b[2J\x9b" + "x" * 5000, "raise KeyError('\\n\\x1b[1m')", "line.py")
    (message,) = caplog.messages
    assert message.isprintable()
    assert len(message) < 1500
