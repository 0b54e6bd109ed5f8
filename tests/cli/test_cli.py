"""The frame of the command line, run as its users run it: in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gregor import cli
from gregor.cli.commands import COMMANDS, LazyCommand, Section
from gregor.errors import BrokerUnreachable

ROOT = Path(__file__).parents[2]
START = [sys.executable, "-c", "from gregor.cli import main; main()"]


def gregor(
    *args: str, cwd: Path, env: dict[str, str] | None = None, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GREGOR_")}
    return subprocess.run(
        [*START, *args],
        cwd=cwd,
        env={**plain, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **(env or {})},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def test_help_teaches_what_gregor_is_its_commands_examples_and_documentation(tmp_path: Path) -> None:
    done = gregor("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    for word in ("Kafka", "Inspect:", "config", "Examples:", "docs/", "Exit codes:"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    heavy = ("aiohttp", "confluent_kafka", "rocksdict", "rich", "gregor.config")
    code = f"import sys, gregor.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_a_character_that_the_terminal_lacks_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "gregor.toml").write_text("crawl.seeds = ['https://\u20ac.example/']", encoding="utf-8")
    done = gregor("config", "show", cwd=tmp_path, env={"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert "https://\\u20ac.example/" in done.stdout


def test_version_is_one_line(tmp_path: Path) -> None:
    done = gregor("--version", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("gregor ")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["confg"], 'gregor: there is no command "confg"; the nearest command is config'),
        (["config", "shwo"], "gregor: No such command 'shwo'"),
        (["--nonsense"], "gregor: No such option"),
        (["config", "check"], "gregor: Missing argument 'FILE'"),
        (["config", "check", "not-there.toml"], "gregor: not-there.toml: there is no such file"),
        (["--config", "not-there.toml", "config", "show"], "gregor: not-there.toml: the configuration cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_3(tmp_path: Path, args: list[str], said: str) -> None:
    done = gregor(*args, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_config_show_prints_values_with_their_origins_in_80_columns(tmp_path: Path) -> None:
    (tmp_path / "gregor.toml").write_text(
        "[fetch]\ndelay_s = 2\n[crawl]\nseeds = ["
        + ", ".join(f'"https://site-{n}.example/"' for n in range(9))
        + ']\n[kafka.security]\nsasl.password = "env:KAFKA_PASSWORD"\n'
        '[[server]]\nmatch = "*.example"\nheaders = {Authorization = "Bearer hunter2"}\n'
    )
    done = gregor(
        "config", "show", cwd=tmp_path, env={"GREGOR_FETCH__FIRST_BYTE_TIMEOUT_S": "5", "KAFKA_PASSWORD": "hunter2"}
    )
    assert done.returncode == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "[fetch]" in lines
    assert "delay_s 2.0 file gregor.toml:2" in lines
    assert "connections 256 default" in lines
    assert "first_byte_timeout_s 5.0 environment GREGOR_FETCH__FIRST_BYTE_TIMEOUT_S" in lines
    assert "security.sasl.password *** (env:KAFKA_PASSWORD) file gregor.toml:6" in lines
    assert "hunter2" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_config_show_as_json_is_whole_and_hides_secrets(tmp_path: Path) -> None:
    (tmp_path / "gregor.toml").write_text('[[server]]\nmatch = "a"\nheaders = {Cookie = "hunter2", X = "shown"}\n')
    done = gregor("config", "show", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["settings"]["fetch.delay_s"] == {"value": 1.0, "origin": "default"}
    assert document["settings"]["server[0].headers"]["value"] == {"Cookie": "***", "X": "shown"}
    assert len(document["config_version"]) == 12


def test_config_check_lists_every_problem_and_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[fetch]\ndely_s = 1\nconnections = 0\n")
    done = gregor("config", "check", "bad.toml", cwd=tmp_path)
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("bad.toml:2: fetch.dely_s")
    assert second.startswith("bad.toml:3: fetch.connections")
    assert done.stderr == "gregor: bad.toml is not a valid configuration\n"


def test_config_check_says_that_a_good_file_is_good(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text("[fetch]\ndelay_s = 1\n")
    done = gregor("config", "check", "good.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("good.toml: ok, config version ")


@pytest.mark.parametrize("args", [["config", "show"], ["--help"]])
def test_a_reader_that_goes_away_is_no_complaint(tmp_path: Path, args: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = gregor(*args, cwd=tmp_path, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_closed_output_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *START, "config", "show"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("gregor: expected somewhere to write to, found standard output closed")
    assert done.stderr.count("\n") == 1


def failing(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    import click

    @click.command()
    def broken() -> None:
        raise error

    monkeypatch.setattr("gregor.cli.config.broken", broken, raising=False)
    monkeypatch.setitem(COMMANDS, "broken", LazyCommand("gregor.cli.config:broken", "Fails.", Section.INSPECT))
    return cli.run(["broken"])


def test_an_error_of_ours_is_one_line_and_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(BrokerUnreachable("no broker at b:9092 for 60 s"), monkeypatch) == 2
    assert capsys.readouterr().err == "gregor: no broker at b:9092 for 60 s; start it, or correct kafka.bootstrap\n"


def test_what_the_system_says_of_a_file_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(FileNotFoundError(2, "No such file or directory", "docs/x"), monkeypatch) == 2
    assert capsys.readouterr().err == (
        "gregor: expected a place that can be used, found docs/x: No such file or directory; name another\n"
    )
    assert failing(OSError(9, "Bad file descriptor"), monkeypatch) == 70, "nobody named a file"


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(KeyboardInterrupt(), monkeypatch) == 130
    assert capsys.readouterr().err == "gregor: interrupted\n"


def test_a_bug_keeps_its_traceback_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(ZeroDivisionError("oops"), monkeypatch) == 70
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "please report it" in said.splitlines()[-1]


def test_every_command_in_the_table_can_be_loaded_and_says_what_the_table_says() -> None:
    import click

    context = click.Context(cli.cli)
    for name, lazy in COMMANDS.items():
        command = cli.cli.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(80) == lazy.help
