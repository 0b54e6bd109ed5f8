"""What every command gets from the options before its name: which configuration file, which environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from gregor.config import Loaded, load


class Settings(Struct, frozen=True):
    """The click context's object. Nothing is read before a command asks."""

    path: Path | None
    env: Mapping[str, str]

    def load(self, flags: Mapping[str, Any] | None = None) -> Loaded:
        """The effective configuration; `flags` are key paths with values or `config.Flag`s, None for "not given"."""
        return load(self.path, self.env, flags or {})


pass_settings = click.make_pass_decorator(Settings)
