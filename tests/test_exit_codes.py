"""docs/exit-codes.md lists every exit code and every error, with the code that it ends with."""

import re
from pathlib import Path

from gregor import errors
from gregor.errors import GregorError

PAGE = (Path(__file__).parents[1] / "docs" / "exit-codes.md").read_text(encoding="utf-8")


def subclasses(root: type[GregorError]) -> set[type[GregorError]]:
    return {root}.union(*(subclasses(one) for one in root.__subclasses__() if one.__module__ == root.__module__))


def test_every_code_has_a_row() -> None:
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \| ", PAGE, re.MULTILINE)} == codes


def test_every_error_has_a_row_with_its_code() -> None:
    expected = {one.__name__: one.default_exit_code for one in subclasses(GregorError)}
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| \S", PAGE, re.MULTILINE)
    assert {name: int(code) for name, code in rows} == expected
    assert len(rows) == len(expected)
