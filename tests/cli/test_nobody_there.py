"""Commands when no broker is there: somebody waits for their answer."""

import socket
from pathlib import Path

import pytest

from gregor import cli
from gregor.errors import EXIT_ENVIRONMENT
from gregor.runtime.transport.kafka import reachable
from infra.kafka.ports import HOST, held_ports

COMMANDS = (
    ("status",),
    ("explain", "https://example.com/"),
    ("pause",),
    ("dead-letters",),
    ("trim",),
    ("audit",),
    ("topics",),
    ("seed", "http://127.0.0.1/"),
    ("stop",),
)


@pytest.fixture
def nobody() -> str:
    """An address at which nobody listens."""
    with held_ports(1) as (port,):
        return f"{HOST}:{port}"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_says_soon_that_nobody_is_there(
    tmp_path: Path,
    nobody: str,
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reachable, "NOBODY_S", 0.3)
    assert cli.run([*command, "--bootstrap", nobody]) == EXIT_ENVIRONMENT
    assert f"gregor: no Kafka broker answered at {nobody} within 0.3 s" in capsys.readouterr().err


def test_soon_is_five_seconds_or_what_is_configured_if_that_is_less(
    tmp_path: Path, nobody: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for configured, soon in (("60", "5"), ("0.2", "0.2")):
        monkeypatch.setenv("GREGOR_KAFKA__GIVE_UP_AFTER_S", configured)
        assert cli.run(["status", "--bootstrap", nobody]) == EXIT_ENVIRONMENT
        assert f"no Kafka broker answered at {nobody} within {soon} s" in capsys.readouterr().err


def test_a_broker_that_takes_the_connection_and_is_slow_is_waited_for_as_long_as_configured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reachable, "NOBODY_S", 0.3)
    monkeypatch.setenv("GREGOR_KAFKA__GIVE_UP_AFTER_S", "1.5")
    with socket.create_server((HOST, 0)) as slow:
        address = f"{HOST}:{slow.getsockname()[1]}"
        assert cli.run(["status", "--bootstrap", address]) == EXIT_ENVIRONMENT
    assert f"no Kafka broker answered at {address} within 1.5 s" in capsys.readouterr().err
