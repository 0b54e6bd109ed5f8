"""Pages like those of the web, generated from statistics of 416 real ones of the open web (news, shops, blogs; 2010 to 2023):

    bytes          deciles 37k 52k 65k 76k 89k 117k 153k 201k 274k, mean 139k
    script         deciles 1 4 7 10 12 16 22 30 45 % of the bytes, mean 18; style sheets 8 %, comments 3 %
    tags           deciles 363 447 525 615 720 848 953 1115 1480, mean 843, with 75 bytes of attributes each
    <a>            19 % of the tags: 155 a page, 107 of them different, 59 % written with their host
    other tags     div 24 %, li 15, span 9, p 5, img 4, ul 3, td 2, br 2, input, svg and path, i, tr, strong, headings...

What is left is text. No real page is copied: words, names and scripts are made up.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

BYTES: Final = (15_000, 36_500, 52_200, 65_000, 75_800, 89_400, 116_500, 152_800, 200_600, 274_000, 550_000)
SCRIPT: Final = (0.0, 0.01, 0.04, 0.07, 0.10, 0.12, 0.16, 0.22, 0.30, 0.45, 0.75)
TAGS: Final = (200, 363, 447, 525, 615, 720, 848, 953, 1115, 1480, 2200)
STYLE: Final = 0.08
COMMENTS: Final = 0.03
ANCHORS: Final = 0.19
DIFFERENT: Final = 0.69
_OTHERS: Final = (
    *("div",) * 24, *("li",) * 15, *("span",) * 9, *("p",) * 5, *("img",) * 4, *("ul",) * 3, *("td", "br") * 2,
    *("input", "svg", "i", "tr", "strong", "h3", "h2", "option", "button", "label", "section", "article"),
)  # fmt: skip
_VOID: Final = frozenset(("img", "br", "input"))
_WORDS: Final = (
    "one",
    "morning",
    "it",
    "woke",
    "vor",
    "dem",
    "Haushalt",
    "und",
    "fand",
    "die",
    "Decke",
    "nearer",
    "über",
    "plus",
    "été",
)
_SCRIPT: Final = (
    'window.dataLayer=window.dataLayer||[];dataLayer.push({{"page":{{"id":{0},"type":"article","html":"<div class=\\"x\\"><\\/div>"}}}});'
    "(function(w,d){{for(var i=0;i<{0}&&w.q;i++){{if(w.q[i]>{0}){{d.write('<scr'+'ipt src=\"/s/{0}.js\"></scr'+'ipt>')}}}}}})"
    "(window,document);\n"
)
_STYLE: Final = ".block-{0}>a:hover{{color:#3{0:03d};background:url(/img/{0}.png) no-repeat;margin:0 auto {0}px}}\n"


def web_bodies(count: int, folder: Path | None) -> list[bytes]:
    """So many pages: those of a folder, over and over, or generated ones."""
    if folder is not None:
        real = [file.read_bytes() for file in sorted(folder.rglob("*.html"))]
        return [real[number % len(real)] for number in range(count)]
    random = Random(1)
    return [web_page(random, number, list(islice(_made_up(random), 400))) for number in range(count)]


def _made_up(random: Random) -> Iterator[str]:
    while True:
        path = f"/{random.choice(_WORDS[:4])}/{random.randrange(100_000)}-{random.choice(_WORDS[:4])}.html"
        yield f"https://site{random.randrange(200)}.example{path}" if random.random() < 0.59 else path


def web_page(random: Random, number: int, links: Sequence[str]) -> bytes:
    """A page with links to some of ``links``, as many as a page has."""
    place = random.random()
    size = _drawn(place, BYTES)
    # Large pages have more tags, but not always; those in scripts count in the statistics too.
    tags = int(_drawn(min(max(random.gauss(place, 0.2), 0.0), 0.999), TAGS) * 0.8)
    anchors = int(tags * ANCHORS)
    targets = links[: max(1, int(anchors * DIFFERENT))]
    script = int(size * _drawn(random.random(), SCRIPT) / len(_SCRIPT))
    style = int(size * STYLE / len(_STYLE))
    head = [
        f'<!DOCTYPE html><html lang="de"><head><meta charset="utf-8"><title>Page {number}</title>\n',
        '<link rel="stylesheet" href="/main.css"><link rel="canonical" href="">\n',
        "<style>",
        *(_STYLE.format(n % 1000) for n in range(style)),
        "</style>\n",
    ]
    parts = [*_elements(random, tags - anchors), *(_anchor(random, targets[n % len(targets)]) for n in range(anchors))]
    parts += [f"<script>{_SCRIPT.format(n)}</script>\n" for n in range(script)]
    parts += ["<!-- " + " ".join(random.choices(_WORDS, k=12)) + " -->\n"] * int(size * COMMENTS / 80)
    random.shuffle(parts)
    written = sum(map(len, head)) + sum(map(len, parts))
    words = max(0, int((size - written) / 6.5 / len(parts)))
    body = "".join(f"{part}{' '.join(random.choices(_WORDS, k=words))}\n" if words else part for part in parts)
    return f"{''.join(head)}</head><body>{body}</body></html>\n".encode()


def _anchor(random: Random, href: str) -> str:
    rel = ' rel="nofollow"' if random.random() < 0.05 else ""
    one, two, three = random.choices(_WORDS, k=3)
    return f'<a class="link link--{one} js-track" href="{href}"{rel} title="{two}">{three}</a>'


def _elements(random: Random, count: int) -> Iterator[str]:
    for number in range(count):
        tag = random.choice(_OTHERS)
        said = f'<{tag} class="block block-{number} {random.choice(_WORDS)}" id="i{number}" data-id="{number * 7919}" style="margin:0">'
        if tag == "svg":
            yield f'{said}<path d="M10 {number}L20 30z"/></svg>'
        else:
            yield said if tag in _VOID else f"{said}</{tag}>"


def _drawn(place: float, deciles: Sequence[float]) -> float:
    """The value at a place between 0 and 1 of what has these deciles."""
    at = place * (len(deciles) - 1)
    low = int(at)
    return deciles[low] + (deciles[low + 1] - deciles[low]) * (at - low)
