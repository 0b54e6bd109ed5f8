"""What a house of the museum has beside its drawers: doors that lead elsewhere, mishaps, copies, papers, staff rooms, a vault."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from random import Random
from typing import Final

import msgspec

from gregor.demo.answer import HTML, OUTSIDE, Answer
from gregor.demo.page import PageLink, Sheet, dressed
from gregor.demo.prose import paragraphs

VAULT: Final = 40
"""Pages that only a sitemap names."""
SITEMAP: Final = "/sitemap.xml"
MAZE: Final = 8
"""Redirects in a row, of which a crawl follows five."""
_FOLLOWED: Final = 5


class Wing(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a house."""

    links: tuple[PageLink, ...] = ()
    """What the house's first page says of it."""
    answers: Mapping[str, tuple[Answer, ...]]
    """Path to the answer to its first request, its second and so on; the last is given from then on."""
    asked: Mapping[str, int]
    """Path to how often a complete crawl asks for it."""


def doors(next_house: str) -> Wing:
    """Redirects: to the entrance, a chain to another house, a circle, a maze longer than anybody follows, and out of the museum."""
    to = {
        "/old/entrance": (301, "/"),
        "/hop/1": (302, "/hop/2"),
        "/hop/2": (301, "3"),
        "/hop/3": (302, next_house),
        "/circle/a": (302, "/circle/b"),
        "/circle/b": (302, "/circle/a"),
        "/leave": (302, OUTSIDE + "door"),
        **{f"/maze/{n}": (307, f"/maze/{n + 1}") for n in range(1, MAZE)},
    }
    beyond = {f"/maze/{n}" for n in range(_FOLLOWED + 2, MAZE + 1)}
    return Wing(
        links=_links("/old/entrance", "/hop/1", "/circle/a", "/leave", "/maze/1"),
        answers={path: (Answer(status, "", location=target),) for path, (status, target) in to.items()},
        asked=dict.fromkeys(to.keys() - beyond, 1),
    )


def mishaps(house: str) -> Wing:
    """What is missing, gone, locked, or broken at the first try."""
    told = {
        "/missing/wing.html": (404, "No drawer of this number was found."),
        "/missing/leg.html?pair=3": (404, "No drawer of this number was found."),
        "/gone/exhibit.html": (410, "This exhibit left the museum by its own means."),
        "/locked.html": (403, "The porter shakes his head."),
    }
    answers: dict[str, tuple[Answer, ...]] = {
        path: (_plain(house, status, text),) for path, (status, text) in told.items()
    }
    vase = "/fragile/vase.html"
    answers[vase] = (
        _plain(house, 500, "Something fell in the next room."),
        _plain(house, 200, "It was only the vase. It has been glued."),
    )
    return Wing(links=_links(*answers), answers=answers, asked={**dict.fromkeys(told, 1), vase: 2})


def crowd(house: str) -> Wing:
    """A house that asks to be left alone for a second, once."""
    path = "/crowded.html"
    full = msgspec.structs.replace(_plain(house, 503, "The room is full."), retry_after="1")
    return Wing(links=_links(path), answers={path: (full, _plain(house, 200, "There is room now."))}, asked={path: 2})


def copies(originals: Mapping[str, str]) -> Wing:
    """The same bytes under other names: path of the copy to the page's HTML."""
    return Wing(
        links=_links(*originals),
        answers={path: (Answer(200, body),) for path, body in originals.items()},
        asked=dict.fromkeys(originals, 1),
    )


def papers(house: str, newest: tuple[str, ...]) -> Wing:
    """What is no page: a catalogue, labels, a feed of the ``newest`` pages."""
    entries = "".join(
        f"<entry><title>{n}</title><link href='{url}'/><id>{url}</id></entry>" for n, url in enumerate(newest)
    )
    atom = f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>{house}</title>{entries}</feed>\n'
    answers = {
        "/catalogue.json": Answer(200, f'{{"house": "{house}", "closed": ["Monday"]}}\n', "application/json"),
        "/labels.txt": Answer(200, "Please do not feed the exhibits.\n", "text/plain; charset=utf-8"),
        "/feed.atom": Answer(200, atom, "application/atom+xml"),
    }
    return Wing(
        links=_links(*answers), answers={path: (one,) for path, one in answers.items()}, asked=dict.fromkeys(answers, 1)
    )


def staff(house: str) -> Wing:
    """Rooms that robots.txt closes, but for one; and a page whose links are not to be followed."""
    rooms = ("/staff/payroll.html", "/staff/keys.html", "/staff/lunch.html?day=monday")
    never = PageLink("/quiet/never.html", "Nobody goes there")
    quiet = dressed(
        Sheet(
            house=house,
            title="Quiet please",
            paragraphs=("Whoever reads this may look, but not follow.",),
            links=(never,),
            head='<meta name="robots" content="nofollow">\n',
        )
    )
    answers = {path: (_plain(house, 200, "Staff only."),) for path in (*rooms, "/staff/notice.html", never.href)}
    answers["/quiet.html"] = (Answer(200, quiet),)
    return Wing(
        links=_links(*rooms, "/staff/notice.html", "/quiet.html"),
        answers=answers,
        asked={"/staff/notice.html": 1, "/quiet.html": 1},
    )


STAFF_RULES: Final = "Disallow: /staff/\nAllow: /staff/notice.html\n"


def vault(house: str, origin: str, drawers: tuple[str, ...]) -> Wing:
    """A sitemap index with a plain and a packed sitemap; what the packed one names is linked from nowhere."""
    hidden = [f"/vault/{number}.html" for number in range(VAULT)]
    listed, packed = "/sitemaps/drawers.xml", "/sitemaps/vault.xml.gz"
    index = "".join(f"<sitemap><loc>{origin}{path}</loc></sitemap>" for path in (listed, packed))
    answers: dict[str, tuple[Answer, ...]] = {
        SITEMAP: (Answer(200, _xml("sitemapindex", index), "application/xml"),),
        listed: (Answer(200, _xml("urlset", _locations(origin, drawers)), "application/xml"),),
        packed: (
            Answer(
                200,
                "",
                "application/gzip",
                raw=gzip.compress(_xml("urlset", _locations(origin, hidden)).encode(), mtime=0),
            ),
        ),
    }
    for number, path in enumerate(hidden):
        sheet = Sheet(
            house=house,
            title=f"Vault, shelf {number + 1}",
            paragraphs=tuple(paragraphs(Random(f"{house}/vault/{number}"), 2)),
            links=(PageLink("/", "Entrance"),),
        )
        answers[path] = (Answer(200, dressed(sheet)),)
    return Wing(answers=answers, asked=dict.fromkeys(answers, 1))


def _xml(root: str, inside: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inside}</{root}>\n'


def _locations(origin: str, paths: tuple[str, ...] | list[str]) -> str:
    return "".join(f"<url><loc>{origin}{path.replace('&', '&amp;')}</loc></url>" for path in paths)


def _links(*paths: str) -> tuple[PageLink, ...]:
    return tuple(PageLink(path, path.strip("/")) for path in paths)


def _plain(house: str, status: int, text: str) -> Answer:
    sheet = Sheet(house=house, title=text, paragraphs=(), links=(PageLink("/", "Entrance"),))
    return Answer(status, dressed(sheet), HTML)
