"""Hashes of servers and URLs, and what follows from them: repository, partition, the key of a known URL.

Two URLs are taken for one when everything that is stored of them is equal. What is stored (`seen_keys`):

    key    20 bits of the server's hash | 44 bits of the mixed URL hash        sorts a server's URLs together
    check  20 further bits of the mixed URL hash | 12 further bits of the server's hash

The mixed URL hash is fingerprint XOR (server hash x odd constant), a bijection of each while the other is fixed:

- on ONE server all 64 bits of the fingerprint are compared. A new URL of a server with ten million known URLs is
  falsely "seen" with probability 1e7 / 2^64 = 5.4e-13, below the bound of 1e-12.
- on TWO servers the SAME path has the same fingerprint ("/", "/about"), and then all 64 bits of the server's hash are
  compared: 5.4e-14 for a path that a million servers have. Server bits beside an unmixed fingerprint would be 32 bits
  here, one wrong "seen" among four thousand such servers.
- different paths on different servers: all 96 bits, 1.3e-19 for ten thousand million URLs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from gregor.url.domain import registered_domain

REPOSITORIES: Final = 4096
SAME_SERVER_BITS: Final = 64

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_SERVER_PREFIX: Final = np.uint64(0xFFFFF00000000000)
_LOW_20: Final = np.uint64(0xFFFFF)
_LOW_12: Final = np.uint64(0xFFF)


def server_hash(server: str) -> int:
    """64 bits of a server's name."""
    return xxh3_64_intdigest(server.encode("utf-8", "surrogatepass"))


def fingerprint(scheme: str, path: str) -> int:
    """64 bits of a URL within its server. `path` includes the query."""
    return xxh3_64_intdigest(f"{scheme}\0{path}".encode("utf-8", "surrogatepass"))


def fingerprints(schemes: Sequence[str], paths: Sequence[str]) -> npt.NDArray[np.uint64]:
    """`fingerprint` of many URLs; the two sequences are of one length."""
    digests = [
        xxh3_64_intdigest(f"{scheme}\0{path}".encode("utf-8", "surrogatepass"))
        for scheme, path in zip(schemes, paths, strict=True)
    ]
    return np.array(digests, dtype=np.uint64)


def seen_keys(
    server_hashes: npt.NDArray[np.uint64], url_fingerprints: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    """(keys, checks) of known URLs, laid out as the module says."""
    mixed = url_fingerprints ^ (server_hashes * _SPREAD)
    keys = (server_hashes & _SERVER_PREFIX) | (mixed >> np.uint64(20))
    checks = ((mixed & _LOW_20) << np.uint64(12)) | ((server_hashes >> np.uint64(32)) & _LOW_12)
    return keys, checks.astype(np.uint32)


def false_seen_probability(urls_on_server: int, bits: int = SAME_SERVER_BITS) -> float:
    """That a new URL equals one of `urls_on_server` known ones in all of `bits` independent bits."""
    return -math.expm1(urls_on_server * math.log1p(-(2.0**-bits)))


def repository_of(server: str, repositories: int = REPOSITORIES) -> int:
    """VEUNIQ's repository: the unit in which uniqueness is checked."""
    return server_hash(server) % repositories


def partition_of(server: str, repositories: int, partitions: int) -> int:
    """Contiguous ranges of repositories, so that doubling `partitions` halves each range."""
    return repository_of(server, repositories) * partitions // repositories


class Placement(Protocol):
    """Where a server's records go."""

    def site(self, server: str) -> str:
        """What is hashed of it."""
        ...

    def partition(self, server: str) -> int: ...


class HashPlacement:
    """Placement by hash of the server, or of its registered domain so that a domain's servers stay together."""

    def __init__(
        self,
        repositories: int,
        partitions: int,
        by: Literal["server", "domain"] = "server",
        domain_of: Callable[[str], str] | None = None,
    ) -> None:
        if partitions < 1 or repositories < partitions or repositories % partitions:
            raise ValueError(
                f"repositories must be a multiple of partitions, found {repositories} and {partitions}; "
                "choose powers of two, repositories the larger"
            )
        self.repositories = repositories
        self.partitions = partitions
        self._name_of = (domain_of or registered_domain) if by == "domain" else None

    def site(self, server: str) -> str:
        return server if self._name_of is None else self._name_of(server)

    def partition(self, server: str) -> int:
        return partition_of(self.site(server), self.repositories, self.partitions)
