"""Which servers named which sitemap in their robots.txt: a sitemap may list URLs of those servers beside its own.

Remembered by the process that read the robots.txt, for as many sitemaps as fit. What is forgotten, or was read by
another process, makes a sitemap's foreign URLs refused, never accepted.
"""

from collections import OrderedDict
from typing import Final

MOST_SITEMAPS: Final = 10_000
MOST_SERVERS: Final = 1_000


class Vouched:
    """Sitemap to the servers that named it."""

    def __init__(self) -> None:
        self._servers: OrderedDict[str, set[str]] = OrderedDict()

    def add(self, sitemap: str, server: str) -> None:
        servers = self._servers.setdefault(sitemap, set())
        self._servers.move_to_end(sitemap)
        if len(servers) < MOST_SERVERS:
            servers.add(server)
        if len(self._servers) > MOST_SITEMAPS:
            self._servers.popitem(last=False)

    def holds(self, sitemap: str, server: str) -> bool:
        return server in self._servers.get(sitemap, ())
