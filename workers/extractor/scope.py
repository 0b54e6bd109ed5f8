"""Which links are worth a message: the scope is decided before ``discovered``, what lies outside is only counted."""

from collections.abc import Callable, Sequence

from gregor.config import Config
from gregor.url.canonical import Refusal, split
from gregor.url.domain import registered_domain

Scope = Callable[[str], bool]
"""Whether a server belongs to the crawl."""


def scope_of(config: Config) -> Scope:
    """The scope that the configuration and its seeds describe."""
    servers = seed_servers(config.crawl.seeds)
    match config.crawl.scope:
        case "hosts":
            return servers.__contains__
        case "domains":
            domains = frozenset(map(registered_domain, servers))
            return lambda server: registered_domain(server) in domains
        case "any":
            return lambda server: True


def seed_servers(seeds: Sequence[str]) -> frozenset[str]:
    urls = (split(seed) for seed in seeds)
    return frozenset(url.server for url in urls if not isinstance(url, Refusal))
