"""Which servers belong to a crawl: one rule for the extractor, which drops links before they are sent, and for the frontier."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from gregor.config import Config
from gregor.config.servers import matcher
from gregor.url.canonical import UrlRefusal, split
from gregor.url.domain import registered_domain

REMEMBERED_SERVERS: Final = 65_536


def servers_in_scope(config: Config, redirected: Iterable[str] = ()) -> Callable[[str], bool]:
    """Whether a canonical server belongs: to those that the configuration and its seeds name, or to ``redirected``, by itself and not
    with its domain, which no seed named."""
    crawl, settings = config.crawl, config.scope
    if crawl.scope == "any":
        return lambda server: True
    seeds = _servers_of(crawl.seeds)
    servers = seeds | frozenset(redirected)
    hosts = [matcher(pattern) for pattern in settings.hosts]
    domains = frozenset(domain.lower().rstrip(".") for domain in settings.domains)
    if crawl.scope == "domains":
        domains |= frozenset(map(registered_domain, seeds))
    if not hosts and not domains:
        return servers.__contains__

    @lru_cache(maxsize=REMEMBERED_SERVERS)
    def in_scope(server: str) -> bool:
        return (
            server in servers
            or (bool(domains) and registered_domain(server) in domains)
            or any(matches(server) for matches in hosts)
        )

    return in_scope


def _servers_of(seeds: Sequence[str]) -> frozenset[str]:
    urls = map(split, seeds)
    return frozenset(url.server for url in urls if not isinstance(url, UrlRefusal))
