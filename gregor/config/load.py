"""The effective configuration: defaults, above them one TOML file, variables, flags; all checked."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from gregor.config.environment import variables
from gregor.config.file import ConfigFile, locate, parse, read
from gregor.config.keys import ARRAYS, KEYS, SECTIONS, SECURITY, Key, generic, nearest_key, nearest_section
from gregor.config.names import Names
from gregor.config.problems import Problem, SettingPlace, describe, printable
from gregor.config.rules import broken_rules
from gregor.config.secrets import HIDDEN, is_secret
from gregor.config.sections import Settings, version_of
from gregor.config.servers import ServerSettings, settings_by_server
from gregor.errors import ConfigError
from schemas.control import Layout

MOST_PROBLEMS: Final = 100
NO_FLAGS: Final[Mapping[str, Any]] = {}
DEFAULT: Final = SettingPlace("default", "default")


class Flag(NamedTuple):
    """A value from the command line that knows its option, for error messages and origins."""

    value: Any
    option: str


class Config(Settings, frozen=True, kw_only=True, dict=True):
    """All settings, checked, and what follows from them."""

    @cached_property
    def for_server(self) -> Callable[[str], ServerSettings]:
        """`config.for_server(server)`: the settings of one server. Cheap enough to be asked for every order."""
        return settings_by_server(self)

    @cached_property
    def config_version(self) -> str:
        return version_of(self)

    @cached_property
    def names(self) -> Names:
        return Names(self.crawl.name)

    @property
    def layout(self) -> Layout:
        """{N, P} as they are recorded in ``control``."""
        return Layout(
            repositories=self.partitions.repositories,
            partitions=self.partitions.partitions,
            partition_by=self.partitions.partition_by,
            placement=self.partitions.placement,
        )

    @property
    def robots_agent(self) -> str:
        return self.robots.agent or self.crawl.user_agent

    @property
    def user_agent_header(self) -> str:
        return f"{self.crawl.user_agent} (+{self.crawl.contact})" if self.crawl.contact else self.crawl.user_agent


class Loaded(Struct, frozen=True):
    """A configuration and where each of its values comes from."""

    config: Config
    origin: Mapping[str, str]
    path: Path | None


class _Given(NamedTuple):
    """One value that somebody set."""

    path: str
    value: Any
    place: SettingPlace


def load(path: Path | None, env: Mapping[str, str], flags: Mapping[str, Any] = NO_FLAGS) -> Loaded:
    """Read, merge and check; ConfigError names everything that is wrong. A flag whose value is None was not given."""
    located = locate(path, env)
    problems: list[Problem] = []
    given: dict[str, _Given] = {}
    if located is not None:
        given.update((one.path, one) for one in _from_file(read(located), problems))
    given.update((one.path, one) for one in _from_environment(env, problems))
    given.update((one.path, one) for one in _from_flags(flags))
    return Loaded(_checked(given, problems), _origins(given), located)


def load_text(text: str, name: str) -> Config:
    """A configuration that is kept elsewhere than in a file; errors call it ``name``."""
    problems: list[Problem] = []
    given = {one.path: one for one in _from_file(parse(text, name), problems)}
    return _checked(given, problems)


def _checked(given: Mapping[str, _Given], problems: list[Problem]) -> Config:
    values = {one.path: value for one in given.values() for value in _converted(one, problems)}
    config = _assemble(values)
    # Rules judge the values that converted; a key that failed already has its problem and its default.
    failed = {problem.key for problem in problems}
    for key, found, expected, other in broken_rules(config):
        if key not in failed:
            setter = given.get(key) or given.get(other)
            problems.append(Problem(setter.place.text if setter else DEFAULT.text, key, found, expected))
    if problems:
        raise _refusal(problems)
    return config


def _from_file(file: ConfigFile, problems: list[Problem]) -> Iterator[_Given]:
    for section, table in file.tree.items():
        place = file.place(section)
        if section not in SECTIONS:
            known = nearest_section(section)
            problems.append(Problem(place.text, section, describe(table), "a known section", known))
        elif section in ARRAYS:
            yield from _from_tables(file, section, table, problems)
        elif not isinstance(table, dict):
            problems.append(Problem(place.text, section, describe(table), f"a table [{section}]"))
        else:
            for key, value in table.items():
                yield from _entries(file, f"{section}.{key}", value)


def _from_tables(file: ConfigFile, section: str, tables: Any, problems: list[Problem]) -> Iterator[_Given]:
    """The keys of [[section]] tables."""
    if not isinstance(tables, list):
        expected = f"tables that begin with [[{section}]]"
        problems.append(Problem(file.place(section).text, section, describe(tables), expected))
        return
    for index, table in enumerate(tables):
        path = f"{section}[{index}]"
        if not isinstance(table, dict):
            problems.append(Problem(file.place(section).text, path, describe(table), f"a table [[{section}]]"))
            continue
        for name in _needed(section):
            if name not in table:
                expected = KEYS[f"{section}[].{name}"].expected
                problems.append(Problem(file.place(path).text, f"{path}.{name}", "no such key", expected))
        for key, value in table.items():
            yield _Given(f"{path}.{key}", value, file.place(f"{path}.{key}"))


def _needed(section: str) -> list[str]:
    """Keys that a table of the section must have."""
    return [field.name for field in msgspec.structs.fields(ARRAYS[section]) if field.required]


def _entries(file: ConfigFile, path: str, value: Any) -> Iterator[_Given]:
    """One value; those of kafka.security one by one, since an unquoted sasl.password makes TOML nest tables."""
    if f"{path}.".startswith(f"{SECURITY}.") and isinstance(value, dict):
        for name, inner in value.items():
            yield from _entries(file, f"{path}.{name}", inner)
    else:
        yield _Given(path, value, file.place(path))


def _from_environment(env: Mapping[str, str], problems: list[Problem]) -> Iterator[_Given]:
    for variable, path, value in variables(env):
        text = f"environment {printable(variable)}"
        place = SettingPlace(text, text)
        if path == SECURITY and isinstance(value, dict):
            yield from (_Given(f"{SECURITY}.{name}", inner, place) for name, inner in value.items())
        elif (section := re.split(r"[.\[]", path)[0]) in ARRAYS:
            expected = f"[[{section}]] tables in the file only"
            problems.append(Problem(text, path, _shown(path, value), expected, f"{section}[].match"))
        else:
            yield _Given(path, value, place)


def _from_flags(flags: Mapping[str, Any]) -> Iterator[_Given]:
    for path, flag in flags.items():
        value, option = flag if isinstance(flag, Flag) else (flag, "")
        if value is not None:
            text = f"flag {option}" if option else "flag"
            yield _Given(path, value, SettingPlace(text, text))


def _key_of(path: str) -> Key | None:
    return Key(path, str, "", "", "a string") if path.startswith(f"{SECURITY}.") else KEYS.get(generic(path))


def _converted(given: _Given, problems: list[Problem]) -> Iterator[Any]:
    """The value as its type, or nothing and a problem."""
    path, value, place = given
    key = _key_of(path)
    if key is None:
        problems.append(Problem(place.text, path, _shown(path, value), "a known key", nearest_key(path)))
        return
    try:
        converted = msgspec.convert(value, key.type)
        if isinstance(converted, float) and not math.isfinite(converted):
            raise msgspec.ValidationError
        # Variables and arguments may hold bytes that are not UTF-8; no record or request could carry them on.
        msgspec.json.encode(converted)
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError):
        problems.append(Problem(place.text, path, _shown(path, value), key.expected))
    else:
        yield converted


def _shown(path: str, value: Any) -> str:
    return HIDDEN if path.startswith(SECURITY) or is_secret(path) else describe(value)


def _assemble(values: Mapping[str, Any]) -> Config:
    tables: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        section, _, name = path.partition(".")
        if path.startswith(f"{SECURITY}."):
            tables.setdefault(section, {}).setdefault("security", {})[path.removeprefix(f"{SECURITY}.")] = value
        else:
            tables.setdefault(section, {})[name] = value
    sections: dict[str, Any] = {name: SECTIONS[name](**table) for name, table in tables.items() if name in SECTIONS}
    sections.update((section, _array(section, tables)) for section in ARRAYS)
    return Config(**sections)


def _array(section: str, tables: Mapping[str, Mapping[str, Any]]) -> tuple[Any, ...]:
    """A table that lacks a key has its problem already; it keeps its number, so that others are named rightly."""
    begin = f"{section}["
    count = max((int(name[len(begin) : -1]) + 1 for name in tables if name.startswith(begin)), default=0)
    missing = dict.fromkeys(_needed(section), "*")
    return tuple(SECTIONS[section](**{**missing, **tables.get(f"{section}[{index}]", {})}) for index in range(count))


def _origins(given: Mapping[str, _Given]) -> dict[str, str]:
    """Every key path with its origin; those of [[server]], [[item]] and kafka.security only where they are set."""
    origin = {path: DEFAULT.origin for path in KEYS if "[]" not in path and path != SECURITY}
    origin.update((path, one.place.origin) for path, one in given.items())
    return origin


def _refusal(problems: Iterable[Problem]) -> ConfigError:
    lines = tuple(str(problem) for problem in problems)
    first, more = lines[0], len(lines) - 1
    remedy = f"{more} more: `gregor config check` lists them" if more else None
    return ConfigError(first, problems=lines[:MOST_PROBLEMS], remedy=remedy)
