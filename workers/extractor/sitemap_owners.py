"""Which servers named which sitemap in their robots.txt: a sitemap may list URLs of those servers beside its own.

Remembered by the process that read the robots.txt, for as many sitemaps as fit. What is forgotten, or was read by
another process, makes a sitemap's foreign URLs refused, never accepted.
"""

from collections import OrderedDict
from typing import Final

MOST_SITEMAPS: Final = 10_000
MOST_SERVERS: Final = 1_000
"""Of one sitemap."""
MOST_NAMED: Final = 100_000
"""Servers of all sitemaps together, 20 MB."""


class SitemapOwners:
    """Sitemap to the servers that named it."""

    def __init__(self) -> None:
        self._servers: OrderedDict[str, set[str]] = OrderedDict()
        self._named = 0

    def add(self, sitemap: str, server: str) -> None:
        servers = self._servers.setdefault(sitemap, set())
        self._servers.move_to_end(sitemap)
        if len(servers) < MOST_SERVERS and server not in servers:
            servers.add(server)
            self._named += 1
        if len(self._servers) > MOST_SITEMAPS or self._named > MOST_NAMED:
            self._named -= len(self._servers.popitem(last=False)[1])

    def holds(self, sitemap: str, server: str) -> bool:
        return server in self._servers.get(sitemap, ())
