"""How a page of a demo site looks: plain, or in the museum's dress with its style sheet and pictures."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

import msgspec

from gregor.demo.pictures import EMBLEM, STYLE

_PLAIN: Final = (
    "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:17px/1.6 Georgia,serif;color:#2b2620;background:#faf6ee}"
    "h1{font-weight:400;font-size:2rem;border-bottom:1px solid #c9b99a;padding-bottom:.4rem}"
    "nav{display:flex;flex-wrap:wrap;gap:.4rem 1rem;margin-top:2rem;font-size:.85rem}"
    "a{color:#7a3b12}footer{margin-top:2rem;font-size:.75rem;color:#8a7f6e}"
)


class PageLink(msgspec.Struct, frozen=True):
    """A link as it is written into the page."""

    href: str
    text: str
    rel: str = ""


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the museum."""

    house: str
    title: str
    paragraphs: tuple[str, ...]
    links: tuple[PageLink, ...]
    picture: str = ""
    """Path of an image; empty: none."""
    head: str = ""
    """Further elements of the head, as HTML."""


def render(title: str, paragraphs: Iterable[str], links: Iterable[PageLink]) -> str:
    """A plain page."""
    head = f"<title>{escape(title)}</title>\n<style>{_PLAIN}</style>"
    body = f'<h1 id="top">{escape(title)}</h1>\n{_text(paragraphs)}\n<nav>\n{_anchors(links)}\n</nav>'
    return _document(head, body)


def dressed(sheet: Sheet) -> str:
    """A page of the museum."""
    title = escape(sheet.title)
    head = f'<title>{title}</title>\n<link rel="stylesheet" href="{STYLE}">\n<link rel="icon" href="{EMBLEM}">\n{sheet.head}'
    figure = (
        f'<figure><img src="{escape(sheet.picture)}" alt="" width="200" height="200"><figcaption>Plate to this drawer'
        "</figcaption></figure>\n"
        if sheet.picture
        else ""
    )
    body = (
        f'<header><img src="{EMBLEM}" alt="" width="44" height="44"><div><b>Museum of insects</b>'
        f"<span>{escape(sheet.house)}</span></div></header>\n"
        f'<main><h1 id="top">{title}</h1>\n{figure}{_text(sheet.paragraphs)}\n<nav>\n{_anchors(sheet.links)}\n</nav></main>'
    )
    return _document(head, body)


def _document(head: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">\n{head}\n</head>\n<body>\n{body}\n'
        "<footer>gregor's demo site. Every creature here is invented.</footer>\n</body>\n</html>\n"
    )


def _text(paragraphs: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)


def _anchors(links: Iterable[PageLink]) -> str:
    return "\n".join(
        f'<a href="{escape(link.href)}"{f" rel={link.rel}" if link.rel else ""}>{escape(link.text)}</a>'
        for link in links
    )
