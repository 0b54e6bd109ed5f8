"""The canonical form of a URL: one text for one resource, or the reason why there is none.

Parsing is the WHATWG algorithm (ada), so links mean here what they mean in a browser. On top of it, always: no
fragment, percent escapes in upper case with unreserved characters decoded, no trailing dot on the host. Rules that
may change what a server answers (session ids, tracking parameters, query order) are off unless asked for.

    canonical text = scheme "://" server path            http://example.com:8080/a?b=1

`server` is the authority: lower case, punycode, the port left out when it is the default OF THE SCHEME. It follows
that http://h/ and https://h/ share the server "h" (one politeness, one budget; the scheme is part of a URL's
fingerprint, so they stay two URLs), that http://h:443/ has the server "h:443", and that https://h:443/ is https://h/.
A pair (scheme, server) therefore names one socket address, and text and Url map one to one; two servers "h" and
"h:443" may reach the same port, which costs a second politeness clock and nothing else.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import ada_url
import msgspec

MAX_LENGTH: Final = 2048

# fmt: off
TRACKING_PARAMETERS: Final = frozenset((
    "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
    "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "vero_id", "wickedid", "s_cid",
))
# fmt: on
TRACKING_PREFIXES: Final = ("utm_", "pk_", "mtm_")
SESSION_PARAMETERS: Final = frozenset(
    ("jsessionid", "phpsessid", "sid", "sessid", "sessionid", "session_id", "zenid", "cfid", "cftoken", "osessionid")
)
SESSION_PREFIXES: Final = ("aspsessionid",)

SCHEME: Final = "scheme"
INVALID: Final = "invalid"
CREDENTIALS: Final = "credentials"
TOO_LONG: Final = "too-long"
BASE: Final = "base"

# Longer than any URL within the cap plus a generous fragment; nothing beyond it is handed to the parser.
_MAX_RAW: Final = 65_536
_FOREIGN_SCHEME = re.compile(r"[\x00-\x20]*(?!https?:)[a-z][a-z0-9+.\-]*:", re.IGNORECASE | re.ASCII)
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_SEGMENT = re.compile("[^/?]+")
_PATH_SESSION = re.compile(r";jsessionid=[^/;?]*", re.IGNORECASE)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPES: Final = {
    f"%{high}{low}": chr(int(high + low, 16)) if chr(int(high + low, 16)) in _UNRESERVED else f"%{high}{low}".upper()
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}


class CanonicalRules(msgspec.Struct, frozen=True):
    """What canonicalisation does beyond the part that never changes a resource."""

    max_length: int = MAX_LENGTH
    """Characters of the canonical text; a longer URL is refused."""
    drop_session_ids: bool = False
    drop_tracking: bool = False
    sort_query: bool = False
    """Parameters by name; those of one name keep their order."""

    @property
    def rewrite(self) -> bool:
        """Whether any rule looks into path or query."""
        return self.drop_session_ids or self.drop_tracking or self.sort_query


DEFAULT_RULES: Final = CanonicalRules()
UNCAPPED_RULES: Final = CanonicalRules(max_length=2**63 - 1)


class Url(msgspec.Struct, frozen=True):
    """A canonical URL. Only this module makes them, so holding one means it is canonical."""

    scheme: str
    """"http" or "https"."""
    server: str
    """Host, or host:port when the port is not the scheme's default."""
    path: str
    """Path and query; begins with a slash."""

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.server}{self.path}"


class UrlRefusal(msgspec.Struct, frozen=True):
    """Why a text is no URL for a crawl."""

    reason: str
    """One of SCHEME, INVALID, CREDENTIALS, TOO_LONG, BASE."""


def split(url: str, rules: CanonicalRules = DEFAULT_RULES) -> Url | UrlRefusal:
    """The canonical form of an absolute URL. Any text is answered, none raises."""
    refused = _refused_unparsed(url)
    if refused is not None:
        return refused
    try:
        href = ada_url.normalize_url(url)
    except ValueError:
        return UrlRefusal(INVALID)
    return from_href(href, rules)


@lru_cache(maxsize=65_536)
def is_canonical_server(scheme: str, server: str) -> bool:
    """Whether a server is spelt as our own URLs spell it. A record may come from anybody, parsers stumble over less, and no other
    spelling of an address gets past this."""
    url = split(f"{scheme}://{server}/")
    return isinstance(url, Url) and url.server == server and url.path == "/"


def join(base: str, href: str, rules: CanonicalRules = DEFAULT_RULES) -> Url | UrlRefusal:
    """The canonical form of `href` as a link on the page `base`."""
    refused = _refused_unparsed(href)
    if refused is not None:
        return refused
    try:
        joined = ada_url.join_url(base, href)
    except ValueError:
        return UrlRefusal(INVALID if ada_url.check_url(base) else BASE)
    return from_href(joined, rules)


def from_href(href: str, rules: CanonicalRules) -> Url | UrlRefusal:
    """From the parser's own serialisation, where every part is where the standard puts it."""
    scheme, separator, rest = href.partition("://")
    if not separator or scheme not in ("http", "https"):
        return UrlRefusal(SCHEME)
    slash = rest.index("/")
    server = rest[:slash]
    if "@" in server:
        return UrlRefusal(CREDENTIALS)
    path = rest[slash:].partition("#")[0]
    if server.endswith(".") or ".:" in server:
        # DNS knows one host where the text has two; what is left may be an address, so it is parsed again.
        host, colon, port = server.partition(":")
        host = host.rstrip(".")
        return split(f"{scheme}://{host}{colon}{port}{path}", rules) if host else UrlRefusal(INVALID)
    return finish(scheme, server, path, rules)


def finish(scheme: str, server: str, path: str, rules: CanonicalRules) -> Url | UrlRefusal:
    """The last step, from parsed parts: escapes, rules, length."""
    if "%" in path:
        path = normal_escapes(path)
    if rules.rewrite:
        rewritten = _rewritten(path, rules)
        if rewritten != path:
            # Dropping ";jsessionid=1" from "/..;jsessionid=1/" leaves a dot segment. Only a session id changes the
            # path, which gets shorter, so this ends; a rewritten query is its own rewriting.
            return split(f"{scheme}://{server}{rewritten}", rules)
    if len(scheme) + 3 + len(server) + len(path) > rules.max_length:
        return UrlRefusal(TOO_LONG)
    return Url(scheme, server, path)


def normal_escapes(path: str) -> str:
    """Upper-case hex, unreserved characters decoded.

    A "%" that starts no escape turns decoding off for its segment: in "%%32e" it would make an escape that was not
    there. The segment is the unit because joining cuts between segments only: a page's URL in canonical form joins
    to the same links as the text it came from.
    """
    if _STRAY_PERCENT.search(path):
        return _SEGMENT.sub(lambda segment: _normal_segment(segment[0]), path)
    return _ESCAPE.sub(lambda escape: _ESCAPES[escape[0]], path)


def _normal_segment(segment: str) -> str:
    if _STRAY_PERCENT.search(segment):
        return _ESCAPE.sub(lambda escape: escape[0].upper(), segment)
    return _ESCAPE.sub(lambda escape: _ESCAPES[escape[0]], segment)


def _refused_unparsed(text: str) -> UrlRefusal | None:
    if _FOREIGN_SCHEME.match(text):
        return UrlRefusal(SCHEME)
    if len(text) > _MAX_RAW:
        return UrlRefusal(TOO_LONG)
    return None


def _rewritten(path: str, rules: CanonicalRules) -> str:
    bare, mark, query = path.partition("?")
    if rules.drop_session_ids and ";" in bare:
        bare = _PATH_SESSION.sub("", bare)
    if not mark:
        return bare
    kept = [pair for pair in query.split("&") if not _dropped(pair.partition("=")[0].lower(), rules)]
    if rules.sort_query:
        kept.sort(key=lambda pair: pair.partition("=")[0])
    query = "&".join(kept)
    return f"{bare}?{query}" if query else bare


def _dropped(name: str, rules: CanonicalRules) -> bool:
    if rules.drop_tracking and (name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES)):
        return True
    return rules.drop_session_ids and (name in SESSION_PARAMETERS or name.startswith(SESSION_PREFIXES))
