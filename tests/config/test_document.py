"""docs/configuration.md says what the sections say."""

from pathlib import Path

from gregor.config.document import document
from gregor.config.keys import KEYS, SECTIONS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_file_is_the_one_that_the_sections_make() -> None:
    """`python -m gregor.config.document docs/configuration.md` makes it again."""
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == document()


def test_every_key_of_every_section_stands_in_it_once() -> None:
    lines = document().splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert len(rows) == len(KEYS)
    assert [line for line in lines if line.startswith("## [")] == [
        f"## [[{name}]]" if name in ("server", "item") else f"## [{name}]" for name in SECTIONS
    ]
    assert all(row.replace("\\|", "").count("|") == 5 for row in rows), "no value breaks its row"
