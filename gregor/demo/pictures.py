"""What the museum's pages load: a style sheet and small pictures, all of them drawn here."""

from __future__ import annotations

import struct
import zlib
from functools import lru_cache
from math import hypot
from typing import Final

from gregor.demo.answer import Answer
from gregor.demo.prose import SECTIONS

EMBLEM: Final = "/img/emblem.png"
STYLE: Final = "/style.css"
_PAPER: Final = "/img/paper.svg"
_COLOURS: Final = {
    "beetles": ("#2f5d50", "#7fb09a"),
    "moths": ("#7a4a6b", "#d3a9c6"),
    "ants": ("#7a3b12", "#d99a63"),
    "crickets": ("#55702a", "#a9c46c"),
    "mantises": ("#1f6f78", "#83c5cc"),
}
_STYLE: Final = f"""\
:root{{--ink:#2b2620;--page:#faf6ee;--line:#d8cbb2;--link:#7a3b12;--soft:#8a7f6e;--card:#fffdf8}}
@media (prefers-color-scheme:dark){{
  :root{{--ink:#e9e2d3;--page:#211d18;--line:#4a4235;--link:#e0a878;--soft:#a1957f;--card:#2b2620}}
}}
*{{box-sizing:border-box}}
body{{margin:0;font:17px/1.65 Georgia,"Times New Roman",serif;color:var(--ink);background:var(--page) url({_PAPER})}}
header{{display:flex;align-items:center;gap:.9rem;padding:1rem 1.5rem;border-bottom:3px double var(--line);background:var(--card)}}
header img{{width:44px;height:44px}}
header b{{font-size:1.15rem;letter-spacing:.02em}}
header span{{color:var(--soft);font-size:.85rem;display:block}}
main{{max-width:46rem;margin:0 auto;padding:1.5rem 1rem 3rem}}
h1{{font-weight:400;font-size:2.1rem;line-height:1.2;margin:.4rem 0 1rem}}
figure{{float:right;margin:0 0 1rem 1.5rem;padding:.6rem;width:190px;background:var(--card);border:1px solid var(--line)}}
figure img{{width:100%;display:block}}
figcaption{{font-size:.75rem;color:var(--soft);text-align:center;padding-top:.4rem}}
a{{color:var(--link)}}
nav{{clear:both;display:grid;grid-template-columns:repeat(auto-fill,minmax(12rem,1fr));gap:.5rem;margin-top:2rem;font-size:.88rem}}
nav a{{padding:.45rem .7rem;border:1px solid var(--line);border-radius:3px;background:var(--card);text-decoration:none}}
nav a:hover{{border-color:var(--link)}}
footer{{border-top:1px solid var(--line);padding:1rem;text-align:center;font-size:.75rem;color:var(--soft)}}
@media (max-width:34rem){{figure{{float:none;width:100%;margin:0 0 1rem}}figure img{{max-width:220px;margin:auto}}h1{{font-size:1.6rem}}}}
"""


def picture_of(section: str) -> str:
    """The path of a section's picture."""
    return f"/img/{section}.svg"


@lru_cache(maxsize=1)
def requisites() -> dict[str, Answer]:
    """Path to what a page needs to be shown."""
    svg = "image/svg+xml"
    return {
        STYLE: Answer(200, _STYLE, "text/css; charset=utf-8"),
        EMBLEM: Answer(200, "", "image/png", raw=_emblem()),
        _PAPER: Answer(200, _paper(), svg),
        **{picture_of(section): Answer(200, _insect(section), svg) for section in SECTIONS},
    }


def _paper() -> str:
    dots = "".join(f'<circle cx="{7 * n % 60}" cy="{23 * n % 60}" r=".6"/>' for n in range(1, 14))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60">'
        f'<g fill="#8a7f6e" fill-opacity=".16">{dots}</g></svg>\n'
    )


def _insect(section: str) -> str:
    """An insect from above: the same six legs for all, a body for each kind."""
    dark, light = _COLOURS[section]
    kind = SECTIONS.index(section)
    length, girth = 44 + 6 * (kind % 3), 20 + 6 * ((kind + 1) % 4)
    legs = "".join(
        f'<path d="M100 {y}q{side * 34} {bend} {side * (60 - abs(y - 112) // 4)} {bend * 2}"/>'
        for side in (-1, 1)
        for y, bend in ((88, -18), (112, 4), (136, 22))
    )
    feelers = "".join(f'<path d="M100 62q{side * 8} -26 {side * 30} -38"/>' for side in (-1, 1))
    wings = "".join(
        f'<ellipse cx="{100 + side * (girth * 0.62):.1f}" cy="120" rx="{girth * 0.62:.1f}" ry="{length}" '
        f'transform="rotate({-side * (6 + 9 * (kind % 2))} 100 80)"/>'
        for side in (-1, 1)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200" role="img">'
        f"<title>{section}</title>"
        f'<g fill="none" stroke="{dark}" stroke-width="5" stroke-linecap="round">{legs}{feelers}</g>'
        f'<ellipse cx="100" cy="118" rx="{girth}" ry="{length + 4}" fill="{dark}"/>'
        f'<g fill="{light}" fill-opacity=".85" stroke="{dark}" stroke-width="2">{wings}</g>'
        f'<circle cx="100" cy="70" r="{13 + kind}" fill="{dark}"/>'
        "</svg>\n"
    )


def _emblem(size: int = 64) -> bytes:
    """A round seal as PNG: rings of two colours."""
    rows = []
    for y in range(size):
        row = bytearray([0])
        for x in range(size):
            far = hypot(x - size / 2 + 0.5, y - size / 2 + 0.5) / (size / 2)
            dark = far < 0.35 or 0.62 < far < 0.72 or 0.86 < far <= 1
            row += bytes((122, 59, 18, 255) if dark else (250, 246, 238, 255 if far <= 1 else 0))
        rows.append(bytes(row))
    head = struct.pack(">IIBBBBB", size, size, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
