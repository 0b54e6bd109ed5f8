"""The key that CDXJ indexes are sorted by (SURT): the host from its end, then the path, so that pages of a domain stand together.

    https://www.example.com/About/?b=2&a=1   ->   com,example)/about?a=1&b=2

Replay software computes the same key for what a visitor asks for, so that the rules are those of the programs that read the index, and
not those by which gregor tells URLs apart: letter case, the order of parameters, `www.` and identifiers of sessions do not count.
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

_URL = re.compile(r"(https?)://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^:/?#]*)(?::(\d*))?([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_WWW = re.compile(r"www\d*\.")
_SLASHES = re.compile(r"//+")
_ESCAPED = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_SESSION = re.compile(
    r"(?<![^&])(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
)
_DEFAULT: Final = {"http": "80", "https": "443"}
_MOST_LAYERS: Final = 10
"""Of percent-encoding within percent-encoding."""


def sort_key(url: str) -> str:
    """Of an absolute URL; what is none sorts by itself."""
    found = _URL.match(url)
    if found is None:
        return _plain(url).lower() or "-"
    scheme, host, port, path, query = found.groups()
    key = _host(host.lower())
    if port and port != _DEFAULT[scheme.lower()]:
        key += f":{port}"
    path = _SLASHES.sub("/", _plain(path).lower())
    key += ")" + (path.rstrip("/") or "/")
    query = _SESSION.sub("", _plain(query or "").lower()).rstrip("&") if query else ""
    if query:
        key += "?" + "&".join(sorted(query.split("&"), key=lambda part: part.split("=", 1)))
    return key


def _host(host: str) -> str:
    if host.startswith("["):
        return host[1:-1]
    return ",".join(reversed(_WWW.sub("", host.rstrip("."), count=1).split("."))) if host else ""


def _plain(text: str) -> str:
    """With no escape that is not needed; one that is, is written in one way."""
    if text.isascii() and "%" not in text and text.isprintable() and "#" not in text and " " not in text:
        return text
    raw = text.encode("utf-8", "replace")
    for _ in range(_MOST_LAYERS):
        decoded = unquote_to_bytes(raw)
        if decoded == raw:
            break
        raw = decoded
    return _ESCAPED.sub(lambda one: b"%%%02x" % one[0][0], raw).decode("ascii")
