"""What statuses and Retry-After mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.fetcher.outcome import LONGEST_RETRY_AFTER_MS, outcome_of, retry_after_ms

NOON = 1_445_412_480_000  # Wed, 21 Oct 2015 07:28:00 GMT


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, "ok"),
        (206, "ok"),
        (301, "redirect"),
        (304, "not-modified"),
        (404, "client-error"),
        (429, "rate-limited"),
        (500, "server-error"),
        (503, "server-error"),
        (101, "protocol"),
        (999, "protocol"),
    ],
)
def test_a_status_has_its_class(status: int, outcome: str) -> None:
    assert outcome_of(status, has_retry_after=False) == outcome


def test_a_503_that_says_when_is_a_limit_of_the_rate() -> None:
    assert outcome_of(503, has_retry_after=True) == "rate-limited"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120_000),
        (" 5 ", 5_000),
        ("0", 0),
        ("Wed, 21 Oct 2015 07:30:00 GMT", 120_000),
        ("Wed, 21 Oct 2015 07:20:00 GMT", 0),
        ("Wednesday, 21-Oct-15 07:30:00 GMT", 120_000),
        ("Wed, 21 Oct 2065 07:28:00 GMT", LONGEST_RETRY_AFTER_MS),
        ("9" * 400, LONGEST_RETRY_AFTER_MS),
        ("-5", 0),
        ("1e9", 0),
        ("²", 0),
        ("soon", 0),
        ("", 0),
        ("Wed, 99 Xxx 2015 07:28:00 GMT", 0),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(value: str, expected: int) -> None:
    assert retry_after_ms(value, NOON) == expected


@given(st.text(max_size=100))
def test_no_retry_after_raises_or_leaves_its_bounds(value: str) -> None:
    assert 0 <= retry_after_ms(value, NOON) <= LONGEST_RETRY_AFTER_MS
