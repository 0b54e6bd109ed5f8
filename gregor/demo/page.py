"""How a page of the demo site looks."""

from __future__ import annotations

from html import escape
from typing import Final

import msgspec

_STYLE: Final = (
    "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:17px/1.6 Georgia,serif;color:#2b2620;background:#faf6ee}"
    "h1{font-weight:400;font-size:2rem;border-bottom:1px solid #c9b99a;padding-bottom:.4rem}"
    "nav{display:flex;flex-wrap:wrap;gap:.4rem 1rem;margin-top:2rem;font-size:.85rem}"
    "a{color:#7a3b12}footer{margin-top:2rem;font-size:.75rem;color:#8a7f6e}"
)


class Link(msgspec.Struct, frozen=True):
    """A link as it is written into the page."""

    href: str
    text: str
    rel: str = ""


def render(title: str, paragraphs: list[str], links: list[Link]) -> str:
    text = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    anchors = "\n".join(
        f'<a href="{escape(link.href)}"{f" rel={link.rel}" if link.rel else ""}>{escape(link.text)}</a>'
        for link in links
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1 id="top">{escape(title)}</h1>\n{text}\n<nav>\n{anchors}\n</nav>\n'
        "<footer>gregor's demo site. Every creature here is invented.</footer>\n</body>\n</html>\n"
    )
