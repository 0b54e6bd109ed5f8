"""Links of HTML pages by the native module: bytes in, columns out, the interpreter released meanwhile (docs/native.md)."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat

import gregor_native

from gregor.url.canonical import Url
from workers.extractor.charset import decode, encode_query, named
from workers.extractor.page_links import ExtractLimits, PageLinks, RawLink
from workers.extractor.requisites import css_urls, srcset
from workers.extractor.robots_meta import RobotsDirectives

_ROBOTS = tuple(RobotsDirectives(bool(bits & 1), bool(bits & 2)) for bits in range(4))


@lru_cache(maxsize=16)
def scanner(limits: ExtractLimits) -> gregor_native.Scanner:
    rules = limits.rules
    return gregor_native.Scanner(
        Url,
        agent=limits.agent,
        max_links=limits.max_links,
        requisites=limits.requisites,
        max_length=rules.max_length,
        drop_session_ids=rules.drop_session_ids,
        drop_tracking=rules.drop_tracking,
        sort_query=rules.sort_query,
    )


def read(body: bytes, content_type: str, url: str, limits: ExtractLimits) -> PageLinks:
    """The links of a page of HTML."""
    native = scanner(limits)
    said = named(body, content_type)
    charset = said.charset
    # Most pages are what they say, and are not decoded for that.
    found = native.scan(said.body, url, True) if charset == "utf-8" else None
    if found is None:
        page = decode(body, content_type)
        charset = page.charset
        found = native.scan(page.utf8, url, charset.startswith("utf-"))
        assert found is not None, "what was decoded is text"
    base, title, robots, dropped, hrefs, kinds, rels, times, urls = found
    links = list(map(RawLink, hrefs, kinds, rels, repeat(0), times, urls))
    if limits.requisites:
        links, more = _expanded(links, limits.max_links)
        dropped += more
    if not charset.startswith("utf-"):
        links = [link if link.url is not None else _in_charset(link, charset) for link in links]
    return PageLinks(base, links, dropped, _ROBOTS[robots], title, charset)


def _in_charset(link: RawLink, charset: str) -> RawLink:
    return RawLink(encode_query(link.href, charset), link.kind, link.rel, 0, link.times)


def _expanded(links: list[RawLink], most: int) -> tuple[list[RawLink], int]:
    """With the links of style sheets and source sets in their place, and how many there was no room for."""
    made: list[RawLink] = []
    for link in links:
        kind = str(link.kind)
        if kind == "srcset":
            made += [RawLink(one, "requisite") for one in srcset(link.href)]
        elif kind == "style":
            made += [RawLink(one, "requisite") for one in css_urls(link.href)]
        else:
            made.append(link)
    room = most
    for number, link in enumerate(made):
        room -= link.times
        if room < 0:
            return made[:number], sum(one.times for one in made[number:])
    return made, 0
