"""The links of one page joined to its URL in one call: repeats dropped first, results grouped by server.

Three ways lead to a joined link, each the same answer as the next one and faster (tests/url/test_links.py):

    simple   rooted or relative, no escapes, no empty or dotted segments: one match and one concatenation
    plain    only characters that the parser of the URL standard hands back unchanged: string operations
    any      the parser
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import msgspec

from gregor.url.canonical import (
    BASE,
    DEFAULT_RULES,
    UNCAPPED_RULES,
    CanonicalRules,
    Url,
    UrlRefusal,
    finish,
    join,
    split,
)

JoinedLink: TypeAlias = tuple[str, str, int, int]
"""(scheme, path, index of the first occurrence, count of occurrences)"""

# Every character stands for itself in a path and in a query; what the standard encodes, strips or turns is absent.
_SAFE = r"A-Za-z0-9\-._~!$&()*+,;=:@%/"
_PLAIN = re.compile(rf"([{_SAFE}]*)(\?[{_SAFE}?]*)?")
_PLAIN_ABSOLUTE = re.compile(rf"(?:(https?):)?//([A-Za-z0-9.:\-]+)(/[{_SAFE}]*)?(\?[{_SAFE}?]*)?")

_FIRST = r"[A-Za-z0-9\-_~!$&()*+,;=@]"
_SEGMENTS = rf"(?:/{_FIRST}[A-Za-z0-9\-._~!$&()*+,;=:@]*+)*+/?"
_SIMPLE = re.compile(
    rf"(?:((?:\.\./)*+){_FIRST}[A-Za-z0-9\-._~!$&()*+,;=@]*+{_SEGMENTS}|/{_FIRST}[A-Za-z0-9\-._~!$&()*+,;=:@]*+{_SEGMENTS})"
    r"(?:\?[A-Za-z0-9\-._~!$&()*+,;=:@/?]*+)?"
)


class JoinedLinks(msgspec.Struct, frozen=True):
    """What the links of one page come to. Every link of the page is in exactly one of the two counts."""

    servers: dict[str, list[JoinedLink]]
    refused: dict[str, int]
    """Reason → links, repeats included."""


class Joiner:
    """Joins links to one page, whose URL is parsed once. It remembers nothing of the links."""

    def __init__(self, base: str, rules: CanonicalRules = DEFAULT_RULES) -> None:
        self._rules = rules
        page = _simple_page(base) or split(base, UNCAPPED_RULES)
        self.page = page if isinstance(page, Url) else None
        if self.page is not None:
            self._scheme, self._server = self.page.scheme, self.page.server
            self.directory = directory_of(self.page.path)
            self._ancestors = {0: self.directory}
            # Path characters that a simple link may have; none when its result would still need work.
            self._room = -1 if rules.rewrite else rules.max_length - len(self._scheme) - 3 - len(self._server)

    def join(self, href: str) -> Url | UrlRefusal:
        """The canonical form of a link on the page; the same as gregor.url.canonical.join."""
        if self.page is None:
            return UrlRefusal(BASE)
        simple = _SIMPLE.fullmatch(href)
        if simple is not None:
            ups = simple.end(1)
            path = href if ups < 0 else (self._ancestors.get(ups) or _ancestor(self._ancestors, ups)) + href[ups:]
            if len(path) <= self._room:
                return Url(self._scheme, self._server, path)
        return _join_plain(self.page, self.directory, href, self._rules)


def join_many(base: str, hrefs: Sequence[str], rules: CanonicalRules = DEFAULT_RULES) -> JoinedLinks:
    """Join all `hrefs` of the page `base`; a URL that occurs in several spellings appears once."""
    joiner = Joiner(base, rules)
    found: dict[str, dict[tuple[str, str], JoinedLink]] = {}
    refused: dict[str, int] = {}
    for href, (index, count) in _distinct(hrefs).items():
        url = joiner.join(href)
        if isinstance(url, UrlRefusal):
            refused[url.reason] = refused.get(url.reason, 0) + count
        else:
            _add(found.setdefault(url.server, {}), url.scheme, url.path, index, count)
    return JoinedLinks({server: list(links.values()) for server, links in found.items()}, refused)


def without_fragment(href: str) -> str:
    """The link as far as a server sees it."""
    cut = href.find("#")
    # "a #b" is "a%20" to the standard, which trims the ends only; cutting first would make it "a".
    return href[:cut] if cut == 0 or (cut > 0 and href[cut - 1] > " ") else href


def directory_of(path: str) -> str:
    """The part of a path that relative links are joined to: "/a/b?c" → "/a/"."""
    bare = path.partition("?")[0]
    return bare[: bare.rindex("/") + 1]


def _simple_page(url: str) -> Url | None:
    """A URL that is its own canonical form beyond doubt; None: ask the parser."""
    scheme, _, rest = url.partition("://")
    server, slash, path = rest.partition("/")
    if not slash or (scheme != "http" and scheme != "https") or _server_of(scheme, server) != server:
        return None
    path = f"/{path}"
    return Url(scheme, server, path) if path == "/" or _SIMPLE.fullmatch(path) else None


def _add(links: dict[tuple[str, str], JoinedLink], scheme: str, path: str, index: int, count: int) -> None:
    key = (scheme, path)
    earlier = links.get(key)
    links[key] = (scheme, path, index, count) if earlier is None else (scheme, path, earlier[2], earlier[3] + count)


def _ancestor(ancestors: dict[int, str], ups: int) -> str:
    """The page's directory after "../" of `ups` characters; the root is its own parent."""
    directory = ancestors[0]
    for _ in range(min(ups // 3, directory.count("/"))):
        directory = directory[: directory.rfind("/", 0, -1) + 1] or "/"
    ancestors[ups] = directory
    return directory


def _distinct(hrefs: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Link without fragment → (index of the first, count)."""
    distinct: dict[str, tuple[int, int]] = {}
    for index, href in enumerate(hrefs):
        href = without_fragment(href)
        earlier = distinct.get(href)
        distinct[href] = (index, 1) if earlier is None else (earlier[0], earlier[1] + 1)
    return distinct


def _plain_path(page: Url, directory: str, href: str) -> str | None:
    """Path and query of a plain link within the page's own scheme and server; None when it is not one."""
    plain = _PLAIN.fullmatch(href)
    if plain is None:
        return None
    path, query = plain.groups("")
    if not path:
        return page.path.partition("?")[0] + query if query else page.path
    if path[0] == "/":
        if path.startswith("//"):
            return None
    else:
        while path.startswith("../"):
            path = path[3:]
            directory = directory[: directory.rfind("/", 0, -1) + 1] or "/"
        # Before the first slash a colon ends a scheme.
        if path.startswith(".") or (":" in path and ":" in path.partition("/")[0]):
            return None
        path = directory + path
    if "/." in path or ("%" in path and "%2e" in path.lower()):
        return None
    return path + query


def _join_plain(page: Url, directory: str, href: str, rules: CanonicalRules) -> Url | UrlRefusal:
    own_path = _plain_path(page, directory, href)
    if own_path is not None:
        return finish(page.scheme, page.server, own_path, rules)
    plain = _PLAIN_ABSOLUTE.fullmatch(href)
    if plain is not None:
        scheme, authority, path, query = plain.groups("")
        if "/." not in path and not ("%" in path and "%2e" in path.lower()):
            scheme = scheme or page.scheme
            server = _server_of(scheme, authority)
            if server is not None:
                return finish(scheme, server, (path or "/") + query, rules)
    return join(page.text, href, rules)


@lru_cache(maxsize=65_536)
def _server_of(scheme: str, authority: str) -> str | None:
    url = split(f"{scheme}://{authority}/")
    return url.server if isinstance(url, Url) else None
