"""Runs `gregor replay` as its users do."""

import json
from pathlib import Path
from typing import Any

import pytest

from gregor import cli


class Replays:
    """``crawl``: the options that name the crawl, before and behind the verb."""

    def __init__(
        self,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        before: tuple[str, ...] = (),
        behind: tuple[str, ...] = (),
    ) -> None:
        self._folder = folder
        self._capsys = capsys
        self._before = before
        self._behind = behind
        self._runs = 0

    def __call__(self, *args: str, code: int = 0) -> dict[str, Any]:
        """What it found, in a new folder each time."""
        self._runs += 1
        output = self._folder / f"replay-{self._runs}"
        said, err = self.run("replay", str(output), *args, "--json", code=code)
        assert said, err
        assert json.loads((output / "replay.json").read_text()) == json.loads(said)
        found: dict[str, Any] = json.loads(said)
        return found

    def run(self, verb: str, *args: str, code: int = 0) -> tuple[str, str]:
        self._capsys.readouterr()
        ended = cli.run([*self._before, verb, *args, *self._behind])
        said, err = self._capsys.readouterr()
        assert ended == code, said + err
        return said, err


def urls(found: dict[str, Any], then: str, now: str) -> set[str]:
    """The URLs that differ in one way."""
    return {url for one in found["differences"] if (one["then"], one["now"]) == (then, now) for url in one["first"]}
