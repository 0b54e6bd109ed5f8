"""Which links belong to the crawl: decided before ``discovered``, what lies outside is only counted."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from gregor.config import Config
from gregor.config.servers import glob
from gregor.url.canonical import Refusal, Url, split
from gregor.url.domain import registered_domain
from workers.extractor.patterns import any_of

HOST: Final = "scope-host"
PREFIX: Final = "scope-prefix"
INCLUDE: Final = "scope-include"
EXCLUDE: Final = "scope-exclude"
EXTENSION: Final = "extension"

REMEMBERED_SERVERS: Final = 65_536


class Scope:
    """The scope that the configuration, its seeds, and the servers that seeds were redirected to describe. Never changes."""

    def __init__(self, config: Config, redirected: Iterable[str] = ()) -> None:
        self._config = config
        self._redirected = frozenset(redirected)
        self.holds: Final = lru_cache(maxsize=REMEMBERED_SERVERS)(self._host_rule())
        """Whether a server belongs to the crawl."""
        settings = config.scope
        self._prefixes = tuple(filter(None, map(_canonical_prefix, settings.prefixes)))
        self._include = any_of(settings.include)
        self._exclude = any_of(settings.exclude)
        self._endings = tuple(f".{ending.lower()}" for ending in settings.refuse_extensions)
        self._plain = not (settings.prefixes or settings.include or settings.exclude or settings.refuse_extensions)

    def refusal(self, url: Url) -> str:
        """Why a link is outside; empty: it is not."""
        if not self.holds(url.server):
            return HOST
        if self._plain:
            return ""
        text = url.text
        if self._prefixes and not text.startswith(self._prefixes):
            return PREFIX
        if self._config.scope.include and not self._include(text):
            return INCLUDE
        if self._exclude(text):
            return EXCLUDE
        if self._endings and url.path.partition("?")[0].lower().endswith(self._endings):
            return EXTENSION
        return ""

    def requisite_refusal(self, url: Url) -> str:
        """Why a requisite of a page in scope is not fetched; empty: it is. Only what is excluded by name is."""
        return EXCLUDE if self._exclude(url.text) else ""

    def with_server(self, server: str) -> "Scope":
        """The same, and this server; not its domain, which no seed named."""
        return Scope(self._config, self._redirected | {server})

    def _host_rule(self) -> Callable[[str], bool]:
        crawl, settings = self._config.crawl, self._config.scope
        if crawl.scope == "any":
            return lambda server: True
        seeds = seed_servers(crawl.seeds)
        servers = seeds | self._redirected
        patterns = [(glob(pattern), ":" in pattern) for pattern in settings.hosts]
        domains = frozenset(settings.domains)
        if crawl.scope == "domains":
            domains |= frozenset(map(registered_domain, seeds))

        def holds(server: str) -> bool:
            if server in servers or (domains and registered_domain(server) in domains):
                return True
            host = server.rpartition(":")[0] if _has_port(server) else server
            return any(pattern.fullmatch(server if with_port else host) for pattern, with_port in patterns)

        return holds


def seed_servers(seeds: Sequence[str]) -> frozenset[str]:
    urls = (split(seed) for seed in seeds)
    return frozenset(url.server for url in urls if not isinstance(url, Refusal))


def _canonical_prefix(prefix: str) -> str:
    """A prefix as canonical URLs begin; "https://example.com" means all of that host and not example.com.evil."""
    url = split(prefix)
    return "" if isinstance(url, Refusal) else url.text


def _has_port(server: str) -> bool:
    return server.rpartition(":")[2].isdigit() and not server.endswith("]")
