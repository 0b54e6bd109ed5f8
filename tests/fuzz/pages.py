"""The links of one page by all who can read it: where more than one of them may, they find the same.

Expressions, lexbor, libxml2 and the native reader agree on plain pages (workers/extractor/reduction.py), of any size. On others lexbor
builds the tree of a browser, which moves, hides and doubles elements, libxml2 tells of them as they stand, and the native reader knows
which are hidden. Whatever it finds, it joins as Python does.
"""

from collections import Counter
from typing import Any, Final

from gregor.url.links import Joiner
from tests.workers.extractor.test_reduction import elements, known
from workers.extractor import python_reader, readers
from workers.extractor.charset import decode
from workers.extractor.links import is_html
from workers.extractor.page_links import MAX_TITLE, ExtractLimits, PageLinks, RawLink
from workers.extractor.reduction import Plain, reduced
from workers.extractor.tree_bounds import fits_lexbor

if readers.NATIVE_VERSION:
    from workers.extractor import native_reader

LIMITS: Final = ExtractLimits(500)
ALL: Final = ExtractLimits(500, requisites=True)
MOST_COMPARED: Final = 20_000
"""Bytes: a page of several times the same says no more."""


def read_page(body: bytes, content_type: str, url: str) -> list[RawLink]:
    """Its links; raises when they depend on who reads it."""
    if not body or not is_html(content_type, body):
        return []
    page = decode(body, content_type)
    found = python_reader.read(body, content_type, url, LIMITS)
    by_events = python_reader.read_events(page.utf8, page.charset, url, LIMITS)
    for one in (found, by_events, python_reader.read(body, content_type, url, ALL)):
        check_bounds(one)
    native = read_natively(body, content_type, url)
    data = page.utf8
    plain = reduced(data) if len(data) <= MOST_COMPARED else None
    if plain is not None and not found.dropped:
        compare_with_tree(plain, data)
        assert said(found) == said(by_events), "libxml2 finds the same"
        assert native is None or said(found) == said(native), "the native reader finds the same"
    return found.links


def check_bounds(found: PageLinks) -> None:
    assert sum(link.times for link in found.links) <= LIMITS.max_links
    assert found.dropped >= 0
    assert len(found.title) <= MAX_TITLE


def read_natively(body: bytes, content_type: str, url: str) -> PageLinks | None:
    """By the native reader, if it is here."""
    if not readers.NATIVE_VERSION:
        return None
    found = native_reader.read(body, content_type, url, LIMITS)
    check_bounds(found)
    check_bounds(native_reader.read(body, content_type, url, ALL))
    joiner = Joiner(found.base)
    for link in found.links:
        joined = joiner.join(link.href)
        assert link.url is None or link.joined(joiner, "") == joined, "where it leads does not depend on who joins"
    return found


def compare_with_tree(plain: Plain, data: bytes) -> None:
    if fits_lexbor(data):
        assert known(plain) == elements(data), "lexbor finds the same in the whole page"


def said(found: PageLinks) -> tuple[Any, ...]:
    """All that a page says, in whatever order."""
    times: Counter[tuple[str, str, int]] = Counter()
    for link in found.links:
        times[link.kind, link.href, link.rel] += link.times
    return found.base, times, found.robots, found.title
