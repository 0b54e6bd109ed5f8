"""`gregor config`: the effective configuration with the origin of each value, and a check of one file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from gregor.cli.say import say, say_json, say_lines, width
from gregor.cli.settings import CliSettings, pass_settings
from gregor.config import Config, Loaded, load
from gregor.config.secrets import shown
from gregor.errors import CheckFailed, ConfigError


class SettingRow(NamedTuple):
    """One setting as it may be printed; `value` holds no secret."""

    section: str
    key: str
    value: Any
    origin: str

    @property
    def path(self) -> str:
        return f"{self.section}.{self.key}"


@click.group(short_help="Show or check the configuration.")
def config() -> None:
    """Show or check the configuration: ./gregor.toml, --config FILE or $GREGOR_CONFIG."""


@config.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@pass_settings
def show(settings: CliSettings, as_json: bool) -> None:
    """Print every setting, its value, and where the value comes from. Secrets are shown as ***."""
    loaded = settings.load()
    if as_json:
        say_json(_document(loaded), indent=2)
    else:
        say_lines(_as_table(loaded, width()))


@config.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Check FILE alone, without the environment, and print one line for each thing that is wrong with it."""
    if not file.exists():
        raise ConfigError(f"{file}: there is no such file")
    try:
        loaded = load(file, {})
    except ConfigError as error:
        for problem in error.problems:
            say(problem)
        raise CheckFailed(f"{file} is not a valid configuration") from None
    say(f"{file}: ok, config version {loaded.config.config_version}")


def rows(loaded: Loaded) -> Iterator[SettingRow]:
    """Every setting in the order of the sections; `kafka.security`, [[server]] and [[item]] only where they are set."""
    for path, origin in loaded.origin.items():
        section, _, key = path.partition(".")
        yield SettingRow(section, key, _value(loaded.config, section, key), origin)


def _value(config: Config, section: str, key: str) -> Any:
    if section.endswith("]"):
        array, _, index = section[:-1].partition("[")
        value = getattr(getattr(config, array)[int(index)], key)
        return {name: shown(name, text) for name, text in value.items()} if key == "headers" else value
    if section == "kafka" and key.startswith("security."):
        name = key.removeprefix("security.")
        return shown(name, config.kafka.security[name])
    return getattr(getattr(config, section), key)


def _document(loaded: Loaded) -> dict[str, Any]:
    settings = {row.path: {"value": row.value, "origin": row.origin} for row in rows(loaded)}
    return {"config_version": loaded.config.config_version, "settings": settings}


def _as_table(loaded: Loaded, width: int) -> Iterator[str]:
    ordered = sorted(rows(loaded), key=lambda row: _rank(row.section))
    key_width = max(len(row.key) for row in ordered if len(row.key) <= width // 3)
    value_width = max(len(text) for row in ordered if len(text := _text(row.value)) <= width // 4)
    yield f"config version {loaded.config.config_version}, from {loaded.path or 'no file'}"
    section = ""
    for row in ordered:
        if row.section != section:
            section = row.section
            yield ""
            yield f"[{section}]"
        yield from _lines(row, key_width, value_width, width)


def _lines(row: SettingRow, key_width: int, value_width: int, width: int) -> Iterator[str]:
    """Three columns; a row too wide for them has its origin at the right edge, if need be on a line of its own."""
    text = _text(row.value)
    left = f"  {row.key:<{key_width}}  {text:<{value_width}}"
    if len(left) + 2 + len(row.origin) <= width:
        yield f"{left}  {row.origin}"
        return
    left = left.rstrip()
    room = width - len(left)
    if room >= 2 + len(row.origin):
        yield f"{left}{row.origin:>{room}}"
    else:
        yield left if room >= 0 else f"{left[: width - 1]}…"
        yield f"{row.origin:>{width}}"


def _rank(section: str) -> int:
    names = list(Config.__struct_fields__)
    return names.index(section.partition("[")[0])


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode() if not isinstance(value, str) or not value else value
