"""Whether a site is spelt as our own records spell it. A record may come from anybody, and nothing else gets into the registry."""

import re
from collections.abc import Callable
from typing import Final

from gregor.url.canonical import is_canonical_server
from gregor.url.domain import registered_domain
from schemas.sites_found import FoundSite

LONGEST: Final = 300
"""Characters: a name of 253, and a port."""

# Names that need no parser to be known as canonical: in small letters, no address in any spelling, no port.
_PLAIN: Final = re.compile(r"(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*")


def is_plain(site: str, match: Callable[[str], object] = _PLAIN.fullmatch) -> bool:
    """Whether a name is canonical and no address; False: it may still be either."""
    # Two hyphens may begin an international name, which has rules of its own.
    return len(site) <= 253 and "--" not in site and match(site) is not None


def is_site(site: str, scheme: str, by_domain: bool) -> bool:
    """Whether ``site`` is one, as `partitions.partition_by` has them."""
    if not 0 < len(site) <= LONGEST or not (is_plain(site) or is_canonical_server(scheme, site)):
        return False
    return not by_domain or registered_domain(site) == site


def is_ours(found: FoundSite, by_domain: bool) -> bool:
    """Whether a site and the server of its first link belong together, both spelt as ours are."""
    site, server = found.site, found.server
    if not by_domain:
        return server in ("", site) and is_site(site, found.scheme, by_domain=False)
    # A domain may be an address in brackets or a port's host: its spelling is judged by the server that it stands for.
    server = server or site
    known = 0 < len(server) <= LONGEST and (is_plain(server) or is_canonical_server(found.scheme, server))
    return known and registered_domain(server) == site
