"""Robots directives of pages."""

import pytest

from workers.extractor.robots_meta import RobotsDirectives, from_content, from_headers


@pytest.mark.parametrize(
    ("content", "nofollow", "noindex"),
    [
        ("", False, False),
        ("index, follow", False, False),
        ("NoIndex", False, True),
        ("noarchive , nofollow", True, False),
        ("none", True, True),
    ],
)
def test_directives_of_a_meta_element(content: str, nofollow: bool, noindex: bool) -> None:
    assert from_content(content) == RobotsDirectives(nofollow=nofollow, noindex=noindex)


@pytest.mark.parametrize(
    ("values", "nofollow", "noindex"),
    [
        ([], False, False),
        (["noindex"], False, True),
        (["noindex", "nofollow"], True, True),
        (["otherbot: noindex, nofollow"], False, False),
        (["Gregor: noindex, nofollow"], True, True),
        (["otherbot: none, gregor: nofollow"], True, False),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"], True, False),
        (["unavailable_after: Wed, 25 Jun 2030 15:00:00 GMT, noindex, nofollow"], True, True),
        (["unavailable_after: Wednesday, 25-Jun-30 15:00:00 GMT, none"], True, True),
        (["unavailable_after: Wed, 15:00:00, none"], True, True),
        (["otherbot: unavailable_after: Wed, 25 Jun 2030 15:00:00 GMT, none"], False, False),
        (["OtherBot/2.1: none, 360spider: none"], False, False),
        (["gregor: max-snippet: 5, nofollow, otherbot: noindex"], True, False),
    ],
)
def test_headers_speak_to_all_or_to_the_agent_they_name(values: list[str], nofollow: bool, noindex: bool) -> None:
    assert from_headers(values, "gregor") == RobotsDirectives(nofollow=nofollow, noindex=noindex)
