"""Settings of one server: which tables hold for it, and which of them wins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.config import Config, ServerRule
from gregor.config.sections import CrawlSection, FetchSection
from gregor.config.servers import glob


def test_without_tables_every_server_has_the_settings_of_the_sections() -> None:
    config = Config(fetch=FetchSection(delay_s=3), crawl=CrawlSection(max_depth=5, server_budget=7))
    settings = config.for_server("example.com")
    assert (settings.delay_s, settings.max_depth, settings.budget) == (3, 5, 7)
    assert settings.obey_robots is True
    assert settings.headers == {}


def test_a_later_table_wins_key_by_key_and_headers_are_merged() -> None:
    config = Config(
        server=(
            ServerRule(match="*.example.com", delay_s=5, budget=10, headers={"A": "1", "B": "1"}),
            ServerRule(match="slow.example.com", delay_s=0, headers={"B": "2"}),
        )
    )
    settings = config.for_server("slow.example.com")
    assert (settings.delay_s, settings.budget) == (0, 10)
    assert settings.headers == {"A": "1", "B": "2"}
    assert config.for_server("fast.example.com").delay_s == 5
    assert config.for_server("example.com").delay_s == config.fetch.delay_s


def test_servers_under_the_same_tables_share_one_object() -> None:
    config = Config(server=(ServerRule(match="*.example.com", delay_s=5),))
    assert config.for_server("a.example.com") is config.for_server("b.example.com")


@pytest.mark.parametrize(
    ("pattern", "server", "matches"),
    [
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "a.example.com:8080", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "a.example.com.evil.org", False),
        ("EXAMPLE.com", "example.com", True),
        ("example.com:8080", "example.com:8080", True),
        ("example.com:8080", "example.com", False),
        ("example.com:*", "example.com:81", True),
        ("127.0.0.*", "127.0.0.7:9000", True),
        ("127.0.0.?", "127.0.0.77", False),
        ("[::1]", "[::1]:80", True),
        ("a.b", "axb", False),
        ("*", "anything:1", True),
    ],
)
def test_patterns_match_server_names(pattern: str, server: str, matches: bool) -> None:
    config = Config(server=(ServerRule(match=pattern, delay_s=9),))
    assert (config.for_server(server).delay_s == 9) is matches


def test_a_pattern_of_many_stars_does_not_take_for_ever() -> None:
    assert glob("*a" * 100 + "b").fullmatch("a" * 250) is None


@given(st.text("ab.*?", max_size=8), st.text("ab.", max_size=10))
def test_a_pattern_means_the_same_as_trying_every_split(pattern: str, server: str) -> None:
    def tried(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return any(tried(pattern[1:], text[start:]) for start in range(len(text) + 1))
        return bool(text) and pattern[0] in ("?", text[0]) and tried(pattern[1:], text[1:])

    assert (glob(pattern).fullmatch(server) is not None) is tried(pattern, server)
