"""The address guard: which IP addresses may be connected to.

It judges addresses, never names: the socket is made only for an address that passed, and the peer is judged again once connected. IPv4 is
"everything but the special blocks", IPv6 is "global unicast but for its special blocks", so that a block nobody thought of is refused.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from gregor.url.literal import MAPPED, ipv4_inside

# IANA's special-purpose registries, with multicast, reserved space and the former 6to4 relays.
SPECIAL_V4: Final = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
GLOBAL_V6: Final = IPv6Network("2000::/3")
# Teredo and all of the IETF's block, documentation, 6to4: the last one carries an IPv4 address that nobody would look at.
SPECIAL_V6: Final = tuple(IPv6Network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
NAT64: Final = IPv6Network("64:ff9b::/96")

_REMEMBERED: Final = 65_536


class AddressRefused(OSError):
    """An address that must not be connected to. An OSError, so that a connector goes on to the name's next address."""


class AddressGuard:
    """Judges addresses, with the exceptions that the configuration makes."""

    def __init__(self, allowed: Iterable[str] = (), *, public: bool = True) -> None:
        """``public`` False: only what ``allowed`` says, because the crawl has no contact to show to the public."""
        blocks = [ip_network(block) for block in allowed]
        self._allowed_v4 = tuple(block for block in blocks if isinstance(block, IPv4Network))
        self._allowed_v6 = tuple(block for block in blocks if isinstance(block, IPv6Network))
        self._public = public
        self.objection = lru_cache(maxsize=_REMEMBERED)(self._objection)
        """From an address as text to why it is refused; None: it may be connected to."""

    def check(self, address: str) -> None:
        reason = self.objection(address)
        if reason is not None:
            raise AddressRefused(reason)

    def _objection(self, address: str) -> str | None:
        try:
            parsed = ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address!r} is not an IP address"
        if self._allowed(parsed):
            return None
        special = _special_v4(parsed) if isinstance(parsed, IPv4Address) else _special_v6(parsed)
        if special:
            return f"{address} is not a public address ({special}); fetch.allow_addresses makes exceptions"
        if not self._public:
            return f"{address} is a public address, and crawl.contact is empty"
        return None

    def _allowed(self, address: IPv4Address | IPv6Address) -> bool:
        if isinstance(address, IPv6Address):
            if any(address in block for block in self._allowed_v6):
                return True
            if address not in MAPPED:
                return False
            # The kernel connects to the IPv4 address itself.
            address = ipv4_inside(address)
        return any(address in block for block in self._allowed_v4)


def _special_v4(address: IPv4Address) -> str:
    return next((str(block) for block in SPECIAL_V4 if address in block), "")


def _special_v6(address: IPv6Address) -> str:
    if address in MAPPED or address in NAT64:
        # Through NAT64 a gateway connects to it: exceptions for our own network do not hold there.
        return _special_v4(ipv4_inside(address))
    if address not in GLOBAL_V6:
        return f"outside of {GLOBAL_V6}"
    return next((str(block) for block in SPECIAL_V6 if address in block), "")
