"""Who may be crawled by whom: a crawl of public hosts tells their owners where to complain, or does not begin."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from gregor.config import Config
from gregor.config.sections import OFFLINE_BACKENDS
from gregor.errors import ConfigError
from gregor.url.canonical import UrlRefusal, split
from workers.fetcher.addresses import AddressGuard

# RFC 6761, RFC 6762, RFC 8375 and ICANN's reservation: names that no public host can have.
PRIVATE_NAMES: Final = ("localhost", "test", "invalid", "local", "internal", "home.arpa")


def require_contact(config: Config, seeds: Iterable[str] = ()) -> None:
    """Raises ConfigError when the crawl may reach public hosts and ``crawl.contact`` is empty.

    ``seeds`` are those of the command line; the configuration's count as well. A public host that is met in spite of this, by a name that
    turns out to be public, is refused by the fetcher's guard.
    """
    if config.crawl.contact or config.fetch.backend in OFFLINE_BACKENDS:
        return
    public = next((seed for seed in (*config.crawl.seeds, *seeds) if _is_public(seed)), None)
    if public is not None:
        found = f"the seed {public[:200]} is on a public host"
    elif config.crawl.scope == "any":
        found = 'crawl.scope = "any" leads to public hosts'
    else:
        return
    raise ConfigError(
        f"crawl.contact: found none, but {found}, whose owner must be able to learn who is crawling",
        remedy='set crawl.contact to a URL or address of yours, such as "https://example.org/bot" or "mailto:me@example.org"',
    )


def _is_public(seed: str) -> bool:
    url = split(seed)
    if isinstance(url, UrlRefusal):
        return False
    host = url.server.partition("]")[0][1:] if url.server.startswith("[") else url.server.partition(":")[0]
    try:
        return AddressGuard().objection(str(ip_address(host))) is None
    except ValueError:
        return not any(host == name or host.endswith(f".{name}") for name in PRIVATE_NAMES)
