"""What every command gets from the options before its name: which configuration file, which environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from gregor.config import Loaded


class CliSettings(NamedTuple):
    """The click context's object. Nothing is read before a command asks."""

    path: Path | None
    env: Mapping[str, str]

    def load(self, flags: Mapping[str, Any] | None = None) -> Loaded:
        """The effective configuration; `flags` are key paths with values or `config.Flag`s, None for "not given"."""
        # `gregor --help` needs no configuration, and does not wait for its tables to be built.
        from gregor.config import load

        return load(self.path, self.env, flags or {})

    def with_state(self, folder: Path | None) -> CliSettings:
        """The same with the state of that folder, if one is given."""
        return self if folder is None else self._replace(env={**self.env, "GREGOR_STATE__FOLDER": str(folder)})


pass_settings = click.make_pass_decorator(CliSettings)
