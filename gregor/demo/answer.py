"""What a site of our own is to its server: a function from requests to answers."""

from __future__ import annotations

from collections.abc import Set
from typing import Final, Protocol

import msgspec

HTML: Final = "text/html; charset=utf-8"
ROBOTS: Final = "/robots.txt"
OUTSIDE: Final = "http://out-of-scope.invalid/"


class Answer(msgspec.Struct, frozen=True):
    """What the server sends."""

    status: int
    body: str
    content_type: str = HTML
    location: str = ""
    """For redirects."""
    raw: bytes = b""
    """Sent in place of the body, if it is no text."""
    retry_after: str = ""
    delay_s: float = 0.0
    """How long the server takes."""


class HostedSite(Protocol):
    """Hosts on loopback addresses, all with one port."""

    @property
    def port(self) -> int:
        """0: it is not served yet."""
        ...

    @property
    def seeds(self) -> list[str]: ...

    def at(self, port: int) -> HostedSite:
        """The same site on this port."""
        ...

    def addresses(self) -> list[str]: ...

    def url(self, host: int, path: str) -> str: ...

    def pages(self) -> Set[str]:
        """Canonical URLs that answer 200 with a page."""
        ...

    def urls(self) -> Set[str]:
        """Canonical URLs that a complete crawl asks for, robots.txt apart."""
        ...

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        """What the host of this address says to a request for path and query that it was asked ``earlier`` times before."""
        ...


def loopback(host: int) -> str:
    """127.0.0.1, 127.0.0.2, … and on through 127.0.0.0/8."""
    return f"127.{host // 254 // 254}.{host // 254 % 254}.{host % 254 + 1}"
