"""What strangers wrote is shown by every command, and speaks to no terminal."""

import ast
import json
import logging
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.cli.say import as_json, say, say_lines
from gregor.printable import PrintableFormatter, printable
from gregor.runtime.loops.decode import dead_letter
from tests.cli.test_crawl import LOOPBACK, ROOT
from tests.hostile.servers import SpeaksToTerminals
from tests.hostile.web import Web
from tests.operate.contract import broken
from tests.operate.desk import embedded

SPOKEN = SpeaksToTerminals.spoken + "\r\n\ud800"


def run(folder: Path, *arguments: str | Path, code: int = 0) -> tuple[str, str]:
    """What a command said, exactly."""
    done = subprocess.run(
        [sys.executable, "-m", "gregor", *map(str, arguments)],
        cwd=folder,
        env={**LOOPBACK, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=180,
    )
    assert done.returncode == code, done.stderr
    return done.stdout.decode(), done.stderr.decode()


def on_terminal(folder: Path, *arguments: str | Path) -> str:
    """What a command said to a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gregor", *map(str, arguments)]
    env = {**LOOPBACK, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                break
            said += piece
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def unprintable(said: str) -> set[str]:
    return {character for character in said if not character.isprintable()} - {"\n"}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where a server that speaks to terminals was crawled, with a dead letter that does so beside it; and the server's URL."""
    folder, web, server = tmp_path_factory.mktemp("crawled"), Web(), SpeaksToTerminals()
    (folder / "gregor.toml").touch()
    with web.serving(server):
        url = f"http://{server.name}/"
        said = run(folder, "crawl", "-o", "docs", url)
        assert not unprintable(said[0] + said[1])
    web.close()
    with embedded(folder / "letters") as transport:
        record = broken(5, value=SPOKEN.encode("utf-8", "replace") + b"\x9b\xff", key=SPOKEN.encode("utf-8", "replace"))
        transport.append([dead_letter(record, SPOKEN[:-1], "frontier", 3)])
    return folder, url


COMMANDS = [
    ("explain", "URL", "docs"),
    ("explain", "URLto", "docs"),
    ("explain", "URLrobots.txt", "docs"),
    ("explain", f"http://{SpeaksToTerminals.spoken}/", "docs"),
    ("status", "docs"),
    ("report", "docs"),
    ("dead-letters", "--folder", "letters"),
    ("dead-letters", "show", "0", "--folder", "letters"),
    ("index", "docs/archive"),
    ("config", "show"),
]
JSON = ("explain", "status", "config")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_no_command_sends_to_a_terminal_what_a_server_said_to_it(
    crawled: tuple[Path, str], command: tuple[str, ...]
) -> None:
    folder, url = crawled
    arguments = [argument.replace("URL", url) for argument in command]
    said, errors = run(folder, *arguments)
    assert not unprintable(said + errors)
    if command[0] in JSON or command == ("dead-letters", "--folder", "letters"):
        said, errors = run(folder, *arguments, "--json")
        assert not unprintable(said + errors)
        json.loads(said)


def test_what_a_server_said_can_still_be_read(crawled: tuple[Path, str]) -> None:
    folder, url = crawled
    said, _ = run(folder, "explain", f"{url}to", "docs")
    assert r"\u001b]0;mine\u0007" in said
    told = json.loads(run(folder, "explain", f"{url}to", "docs", "--json")[0])
    assert any("\x1b]0;mine\x07" in result["location"] for result in told["logged"]["results"])
    shown, _ = run(folder, "dead-letters", "show", "0", "--folder", "letters")
    assert r"\u000d" in shown, "nor does it begin lines of its own"


def test_bodies_go_to_files_and_programs_byte_for_byte_and_to_terminals_escaped(crawled: tuple[Path, str]) -> None:
    folder, url = crawled
    for arguments in (
        ("export", "docs/archive", url),
        ("export", "docs/archive", url, "--as", "text"),
        ("export", "docs/archive", url, "--as", "body"),
        ("dead-letters", "show", "0", "--raw", "--folder", "letters"),
    ):
        assert not unprintable(on_terminal(folder, *arguments)), arguments
    done = subprocess.run(
        [sys.executable, "-m", "gregor", "export", "docs/archive", url, "--as", "body"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=180,
    )
    assert f"<title>{SpeaksToTerminals.spoken}</title>".encode() in done.stdout


def test_an_error_repeats_nothing_raw(tmp_path: Path) -> None:
    (tmp_path / "gregor.toml").touch()
    for arguments in (("status", SPOKEN[:-3]), (SPOKEN[:-3],), ("explain", "http://h/", SPOKEN[:-3])):
        done = subprocess.run(
            [sys.executable, "-m", "gregor", *arguments],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=180,
        )
        assert done.returncode not in (0, 70)
        assert not unprintable(done.stderr.decode())
        assert len(done.stderr.decode().splitlines()) == 1


@given(st.text())
def test_any_text_is_one_line_that_can_be_printed(text: str) -> None:
    shown = printable(text)
    assert not unprintable(shown)
    assert "\n" not in shown
    if not unprintable(text) and "\n" not in text:
        assert shown == text


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_document_is_json_that_can_be_printed_and_says_the_same(document: object) -> None:
    for indent in (0, 2):
        told = as_json(document, indent)
        assert not unprintable(told)
        assert told.isascii()
        assert json.loads(told) == document


def test_lines_are_said_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    say(SPOKEN)
    say_lines([SPOKEN, "b"], err=True)
    said, errors = capsys.readouterr()
    assert said == printable(SPOKEN) + "\n"
    assert errors == printable(SPOKEN) + "\nb\n"


def test_log_lines_are_printable_and_a_traceback_keeps_its_lines() -> None:
    try:
        raise ValueError(SPOKEN)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "x", 1, "met %s", (SPOKEN,), sys.exc_info())
    lines = PrintableFormatter("gregor: %(message)s").format(record)
    assert not unprintable(lines)
    first, second, *_, last = lines.splitlines()
    assert first == f"gregor: met {printable(SPOKEN)}"
    assert second == "Traceback (most recent call last):"
    assert "ValueError" in lines
    assert last


PACKAGES = ("gregor", "streams", "workers")
SPEAKERS = {"gregor/cli/say.py", "gregor/printable.py"}
OTHERS = {
    "gregor/config/document.py": "writes documentation, of our own words",
    "gregor/run/metrics_document.py": "writes documentation, of our own words",
    "gregor/runtime/metrics/probe.py": "tells a container whether a worker is well",
    "gregor/runtime/transport/kafka/restore_worker.py": "tells its parent, through a pipe, how far it is",
    "gregor/cli/progress.py": "asks whether there is a terminal",
    "gregor/cli/__init__.py": "sets up standard output, and flushes it",
}


WAYS = {
    "click": {"echo", "secho", "echo_via_pager", "prompt", "confirm", "style"},
    "sys": {"stdout", "stderr", "__stdout__", "__stderr__"},
    "logging": {"basicConfig", "StreamHandler"},
    "traceback": {"print_exc", "print_exception", "print_stack"},
}


def ways_to_print(source: str) -> Iterator[str]:
    """Names in a module by which text gets out of the process."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id == "print":
            yield "print"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in WAYS.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            ways = WAYS.get(node.module or "", set())
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name in ways)


def test_nothing_is_printed_but_by_the_one_function_that_makes_it_printable() -> None:
    found = {
        str(path.relative_to(ROOT)): set(ways_to_print(path.read_text()))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    asks = {name for name, ways in found.items() if ways and name not in SPEAKERS | OTHERS.keys()}
    assert not asks, f"use gregor.cli.say, or printable() for what it cannot do: {asks}"
    assert found["gregor/cli/__init__.py"] == {"sys.stdout"}
    assert OTHERS.keys() <= {name for name, ways in found.items() if ways}, "an exception that nobody needs any more"
    assert set(ways_to_print("from click import echo\nclick.secho(1)\nprint(2)")) == {
        "click.echo",
        "click.secho",
        "print",
    }
