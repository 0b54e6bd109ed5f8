"""Figures as people read them."""

import pytest

from gregor.outputs.report import figures


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (9_999_999, "9,999,999"), (10_000_000, "10.0 M"), (3_412_000_000, "3,412.0 M"), (10**10, "10.0 G")],
)
def test_large_numbers_are_whole_as_long_as_they_are_short(number: int, shown: str) -> None:
    assert figures.large(number) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (123_456, "123 kB"), (9_036_140, "9.0 MB"), (10**16, "10000 TB")],
)
def test_sizes_have_the_unit_that_keeps_them_short(count: int, shown: str) -> None:
    assert figures.size(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0.0 s"), (59.94, "59.9 s"), (60, "1 min"), (3725, "1 h 2 min"), (3600, "1 h"), (255_600, "2 d 23 h")],
)
def test_spans_have_their_two_greatest_units(seconds: float, shown: str) -> None:
    assert figures.span(seconds) == shown


def test_a_moment_that_no_calendar_has_is_empty() -> None:
    assert figures.moment(0) == figures.moment(-1) == figures.moment(2**62) == ""
    assert figures.moment(1_750_000_000_000) == "2025-06-15 15:06:40 UTC"
