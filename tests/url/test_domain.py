"""Registered domains."""

import pytest
from hypothesis import given

from gregor.url.canonical import Url, split
from gregor.url.domain import registered_domain
from tests.url.strategies import absolute


@pytest.mark.parametrize(
    ("server", "domain"),
    [
        ("example.com", "example.com"),
        ("a.b.example.co.uk:8080", "example.co.uk"),
        ("alice.github.io", "alice.github.io"),
        ("www.alice.github.io", "alice.github.io"),
        ("co.uk", "co.uk"),
        ("localhost:8000", "localhost"),
        ("a.b.no-such-suffix", "b.no-such-suffix"),
        ("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("127.0.0.1:8080", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[2001:db8::1]:8080", "[2001:db8::1]"),
        ("a..b", "a..b"),
        ("", ""),
        ("[", "["),
    ],
)
def test_the_registered_domain_of_a_server(server: str, domain: str) -> None:
    assert registered_domain(server) == domain


@given(absolute)
def test_a_registered_domain_is_its_own(text: str) -> None:
    url = split(text)
    if isinstance(url, Url):
        domain = registered_domain(url.server)
        assert registered_domain(domain) == domain
        assert domain in url.server
