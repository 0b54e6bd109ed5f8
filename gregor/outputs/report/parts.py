"""Pieces of the report: figures, lists of bars, tables. Whatever comes from the web passes `text` on its way into HTML."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from gregor.outputs.report import figures

LONGEST: Final = 160
_CONTROLS: Final = dict.fromkeys(
    (*range(32), 127, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}"
)
"""Characters that show nothing, or turn the direction of what follows."""


def text(value: str, longest: int = LONGEST) -> str:
    """As HTML, cut in the middle when it is long."""
    if len(value) > longest:
        half = longest // 2
        value = f"{value[:half]}…{value[-half:]}"
    return escape(value.translate(_CONTROLS))


def keyed(key: str, value: float | str, shown: str) -> str:
    """A figure that says which key of summary.json it is."""
    return f'<span data-key="{escape(key)}" data-value="{escape(str(value))}">{shown}</span>'


def tile(title: str, figure: str, note: str = "") -> str:
    return f'<div class="tile"><h3>{title}</h3><b>{figure}</b><small>{note}</small></div>'


class Bar(NamedTuple):
    """One line of a list of bars."""

    label: str
    """HTML."""
    value: float
    shown: str
    """HTML."""
    colour: str = "accent"
    note: str = ""
    """HTML below the bar."""


def bars(lines: Sequence[Bar], empty: str) -> str:
    """Horizontal bars, the longest as wide as the list."""
    if not lines:
        return f'<p class="empty">{empty}</p>'
    most = max(line.value for line in lines) or 1
    return f'<ul class="bars">{"".join(_bar(line, most) for line in lines)}</ul>'


def _bar(line: Bar, most: float) -> str:
    share = max(line.value / most * 100, 0.4)
    note = f"<small>{line.note}</small>" if line.note else ""
    return (
        f'<li><span class="label">{line.label}</span><span class="value">{line.shown}</span>'
        f'<span class="track"><i class="{line.colour}" style="width:{share:.2f}%"></i></span>{note}</li>'
    )


class Cell(NamedTuple):
    """One cell of a table: what it shows, and what it is sorted by."""

    shown: str
    """HTML."""
    by: float | str = ""


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table that its script sorts; all columns but the first hold numbers."""
    head = "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f'<td data-by="{escape(str(cell.by))}">{cell.shown}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def section(title: str, inside: str, note: str = "", wide: bool = False) -> str:
    told = f'<p class="note">{note}</p>' if note else ""
    return f"<section{' class=wide' if wide else ''}><h2>{title}</h2>{told}{inside}</section>"


def status_colour(status: str) -> str:
    return {"2": "good", "3": "moved", "4": "warn", "5": "bad"}.get(status[:1], "none")


def share(part: int, whole: int) -> str:
    return f"{part / whole * 100:.1f}%" if whole else ""


def counted(key: str, count: int, all_of_them: int) -> str:
    return f"{keyed(key, count, figures.whole(count))} <em>{share(count, all_of_them)}</em>"
