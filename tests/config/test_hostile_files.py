"""Files that no person would write: each is one clear line, whatever is in them."""

import datetime
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.config import Config, load
from gregor.config.keys import ARRAYS, KEYS, SECTIONS
from gregor.errors import ConfigError

DEEP = 30_000


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[fetch]\ndelay_s 1\n", ":2:9: not valid TOML: Expected '='"),
        (b"[fetch]\nx = [1,\n", ":3:1: not valid TOML: "),
        (b"[fetch]\ndelay_s = 1\ndelay_s = 2\n", ":3:12: not valid TOML: Cannot overwrite a value"),
        (b"[crawl]\nname = '\xff'\n", ":2: found byte 0xff, expected UTF-8 text"),
        (b"\x7fELF\x00\x00", ": found binary data (a zero byte at 4), expected a TOML file"),
        (b"#" * (1024 * 1024 + 1), ": found more than 1048576 bytes"),
        (b"x = " + b"[" * DEEP, ": found values nested too deeply"),
        (b"x = " + b"{x=" * DEEP, ": found values nested too deeply"),
        (b"x = 1\n" + b".".join([b"a"] * DEEP) + b" = 1", ":2: found a key of more than 32 parts"),
        (b"x = {" + b".".join([b"'a'"] * DEEP) + b" = 1}", ":1: found a key of more than 32 parts"),
        (b"[" + b" . ".join([b"a"] * DEEP) + b"]", ":1: found a key of more than 32 parts"),
        (b"x = " + b"9" * 5000, ": not valid TOML: "),
        (b"[" * (1024 * 1024), ":1:3: not valid TOML: "),
        (b"[" + b" " * 1_000_000 + b"x]", "x: found a table of 0, expected a known section"),
    ],
    ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else None,
)
def test_a_broken_file_is_refused_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "gregor.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    message = str(caught.value)
    assert message.startswith(f"{file}:")
    assert said in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize("path", ["/", "/not/there.toml", "a\0b"])
def test_a_path_that_is_no_file_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="the configuration cannot be read: "):
        load(Path(path), {})


def test_a_mark_of_byte_order_and_windows_lines_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "gregor.toml"
    file.write_bytes(b"\xef\xbb\xbf[fetch]\r\ndelay_s = 2\r\n")
    assert load(file, {}).config.fetch.delay_s == 2.0


def test_what_a_terminal_would_obey_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "gregor.toml"
    file.write_text('[fetch]\n"\\u001b[2J\\nevil\\u202e" = "\\u001b[31m"\n')
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    assert str(caught.value).isprintable()


def toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            return "{" + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            return repr(value)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
leaves = (
    st.booleans()
    | st.integers()
    | st.floats()
    | texts
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.sampled_from([key.default for key in KEYS.values() if isinstance(key.default, str | int | float)])
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
names = st.sampled_from(sorted({path.rpartition(".")[2] for path in KEYS})) | texts
tables = st.dictionaries(names, values, max_size=6)
trees = st.dictionaries(
    st.sampled_from(sorted(SECTIONS)) | texts, tables | st.lists(tables, max_size=3) | values, max_size=5
)


@given(tree=trees)
def test_any_tree_is_accepted_or_refused_with_a_line_for_each_problem(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, Any]
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_text("".join(f"{toml(key)} = {toml(value)}\n" for key, value in tree.items()))
    try:
        loaded = load(file, {})
    except ConfigError as refusal:
        for problem in refusal.problems:
            assert problem.startswith(f"{file}:")
            assert ": found " in problem
            assert ", expected " in problem
            assert problem.isprintable()
    else:
        assert load(file, {}).config.config_version == loaded.config.config_version


@given(section=st.sampled_from(sorted(set(SECTIONS) - ARRAYS.keys())), name=texts, value=values)
def test_every_unknown_key_is_refused_with_a_known_one_beside_it(
    tmp_path_factory: pytest.TempPathFactory, section: str, name: str, value: Any
) -> None:
    if f"{section}.{name}" in KEYS:
        return
    file = tmp_path_factory.getbasetemp() / "unknown.toml"
    file.write_text(f"[{section}]\n{toml(name)} = {toml(value)}\n")
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    (problem,) = caught.value.problems
    # A key written with escapes is found at its table.
    assert problem.startswith((f"{file}:2: {section}.", f"{file}:1: {section}."))
    assert problem.rpartition("the nearest known key is ")[2] in KEYS


@given(name=st.text(st.characters(codec="ascii", exclude_characters="=\0"), max_size=20), value=texts)
def test_any_variable_is_accepted_or_refused_and_one_without_two_underscores_means_nothing(
    name: str, value: str
) -> None:
    env = {f"GREGOR_{name}": value}
    if "__" in f"_{name}":
        with suppress(ConfigError):
            load(Path("/dev/null"), env)
    else:
        assert load(Path("/dev/null"), env).config == Config()
