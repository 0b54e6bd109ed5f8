"""Which servers belong to the crawl, as the frontier sees it: the configuration's, and those that seeds and their redirects brought.

The extractor drops what is out of scope before it is sent. Here the same is checked once more, because a record may come from anybody.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from gregor.config import Config
from gregor.config.servers import glob
from gregor.url.canonical import Refusal, split
from gregor.url.domain import registered_domain
from schemas.discovered import Discovered

Scope = Callable[[str], bool]

REMEMBERED: Final = 65_536


def scope_of(config: Config) -> Scope:
    """The servers that the configuration names; which of their paths are wanted was decided before."""
    urls = [split(seed) for seed in config.crawl.seeds]
    servers = frozenset(url.server for url in urls if not isinstance(url, Refusal))
    hosts = [glob(pattern) for pattern in config.scope.hosts]
    domains = {domain.lower() for domain in config.scope.domains}
    if config.crawl.scope == "any":
        return lambda server: True
    if config.crawl.scope == "domains":
        domains.update(map(registered_domain, servers))
    if not hosts and not domains:
        return servers.__contains__

    @lru_cache(maxsize=REMEMBERED)
    def in_scope(server: str) -> bool:
        host = re.sub(r":\d+$", "", server)
        return (
            server in servers
            or registered_domain(server) in domains
            or any(pattern.fullmatch(host) or pattern.fullmatch(server) for pattern in hosts)
        )

    return in_scope


def widens(found: Discovered) -> bool:
    """Whether a record brings its server into the scope: a seed, or where a seed was redirected to."""
    return found.kind == "seed" or (found.kind == "redirect" and found.hops == 0)
