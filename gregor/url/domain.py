"""The registered domain of a server, by the public suffix list that ships inside the `publicsuffixlist` package.

Private suffixes count ("alice.github.io" and "bob.github.io" are two), as they do for a browser's idea of a site.
The list is as old as the installed package; nothing is fetched at run time.
"""

from __future__ import annotations

from functools import lru_cache

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=131_072)
def registered_domain(server: str) -> str:
    """The domain somebody registered: "www.example.co.uk:8080" → "example.co.uk".

    `server` is canonical (gregor.url.canonical). An IP literal is its own domain, and so is a name that has no
    registered part: a bare suffix, a single label. An unknown suffix counts as one label.
    """
    if server.startswith("["):
        return server[: server.find("]") + 1] or server
    host = server.partition(":")[0]
    # A canonical host ends in a digit-only label only when it is an IPv4 address.
    if host.rpartition(".")[2].isdigit():
        return host
    return _suffixes().privatesuffix(host) or host
