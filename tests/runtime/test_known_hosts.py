"""By which names gregor's web servers may be asked for."""

import socket

import pytest

from gregor.runtime.known_hosts import known_hosts


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.1.2.3:9464",
        "[::1]",
        "[::1]:9464",
        "[fe80::1%25eth0]:9464",
        "localhost",
        "LOCALHOST.:80",
        "frontier:9464",
        "Metrics.Example.com",
        "metrics.example.com.:9464",
    ],
)
def test_addresses_localhost_and_configured_names_are_known(host: str) -> None:
    assert known_hosts(("frontier", "metrics.example.COM"))(host)


def test_the_machine_itself_is_known_by_its_name() -> None:
    assert known_hosts(())(f"{socket.gethostname()}:9464")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "stranger.example",
        "stranger.example:9464",
        "127.0.0.1.stranger.example",
        "localhost.stranger.example",
        "127.0.0.1@stranger.example",
        "127.0.0.1:80@stranger.example",
        "stranger.example#127.0.0.1",
        "127.0.0.1/stranger.example",
        "127.0.0.1, stranger.example",
        "[::1].stranger.example",
        "[::1",
        "[stranger.example]",
        "localhost:80:80",
        "frontier.stranger.example",
        "1" * 10_000,
    ],
)
def test_any_other_name_is_a_strangers(host: str) -> None:
    assert not known_hosts(("frontier",))(host)
