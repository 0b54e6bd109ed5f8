"""Servers whose name is an address: nobody has to be asked where they are."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

MAPPED: Final = IPv6Network("::ffff:0:0/96")
_REMEMBERED: Final = 65_536


@lru_cache(maxsize=_REMEMBERED)
def literal_in(server: str) -> str:
    """The address that a server's canonical name spells, IPv4 where it lies inside of IPv6; empty: it is a name like any other."""
    try:
        address = ip_address(host_of(server))
    except ValueError:
        return ""
    return str(ipv4_inside(address) if isinstance(address, IPv6Address) and address in MAPPED else address)


def host_of(server: str) -> str:
    """A server's name without port and brackets."""
    return server[1:].partition("]")[0] if server.startswith("[") else server.partition(":")[0]


def ipv4_inside(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
