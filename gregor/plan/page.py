"""The plan as one HTML page that needs nothing beside it: the table, and pages a second over machines as a drawing."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

WIDTH: Final = 760
HEIGHT: Final = 320
LEFT: Final = 80
BELOW: Final = 40
TICKS: Final = 5
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#223}"
    "pre{background:#f4f6f8;padding:1rem;overflow:auto;font-size:13px}svg{width:100%;height:auto}"
    "text{font:12px system-ui,sans-serif;fill:#556}.line{fill:none;stroke:#2266aa;stroke-width:2}"
    ".grid{stroke:#dde;stroke-width:1}.here{fill:#cc4422}"
)


def page_of(
    title: str, lines: Iterable[str], points: Sequence[tuple[int, float]], here: tuple[int, float], unit: str
) -> str:
    """``here`` is marked on the curve; ``unit`` is what stands on the x axis."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style></head><body>\n'
        f"<h1>{escape(title)}</h1>\n<h2>Pages a second over {escape(unit)}</h2>\n{drawing(points, here, unit)}\n"
        f"<pre>{escape(chr(10).join(lines))}</pre>\n</body></html>\n"
    )


def drawing(points: Sequence[tuple[int, float]], here: tuple[int, float], unit: str) -> str:
    right, top = _round_up(max(x for x, _ in points)), _round_up(max(max(y for _, y in points), here[1], 1))

    def place(x: float, y: float) -> str:
        return f"{LEFT + x / right * (WIDTH - LEFT - 20):.1f},{HEIGHT - BELOW - y / top * (HEIGHT - BELOW - 20):.1f}"

    marks = []
    for at in range(TICKS + 1):
        x, y = right * at / TICKS, top * at / TICKS
        (across, floor), (side, up) = place(x, 0).split(","), place(0, y).split(",")
        marks.append(f'<line class="grid" x1="{side}" y1="{up}" x2="{WIDTH - 20}" y2="{up}"/>')
        marks.append(f'<text x="{LEFT - 8}" y="{up}" text-anchor="end" dominant-baseline="middle">{y:,.0f}</text>')
        marks.append(f'<text x="{across}" y="{float(floor) + 18}" text-anchor="middle">{x:,.0f}</text>')
    line = " ".join(place(x, y) for x, y in points)
    cx, cy = place(*here).split(",")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="pages a second over {escape(unit)}">{"".join(marks)}'
        f'<polyline class="line" points="{line}"/><circle class="here" cx="{cx}" cy="{cy}" r="5"/>'
        f'<text x="{WIDTH - 20}" y="{HEIGHT - 4}" text-anchor="end">{escape(unit)}</text></svg>'
    )


def _round_up(value: float) -> float:
    """To a number that reads well in fifths."""
    size = 1.0
    while size * 10 < value:
        size *= 10
    return next(size * step for step in (1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10) if size * step >= value)
