"""Which bodies are read."""

import pytest

from gregor.rules.media_types import type_wanted


@pytest.mark.parametrize(
    ("content_type", "wanted"),
    [
        ("text/html", True),
        ("TEXT/HTML; charset=utf-8", True),
        ("text/plain", True),
        ("application/xhtml+xml", True),
        ("application/rss+xml", True),
        ("application/pdf", False),
        ("image/png", False),
        ("", True),
        (";;;", True),
    ],
)
def test_types_are_wanted_by_name_by_class_or_by_suffix(content_type: str, wanted: bool) -> None:
    assert type_wanted(content_type, ("text/*", "application/xhtml+xml", "*/*+xml")) is wanted


def test_with_no_types_named_everything_is_wanted() -> None:
    assert type_wanted("image/png", ())
