"""Which partition of ``schedule`` an order goes to: one small interface; any fetcher may run any order."""

from typing import Final, Protocol

from gregor.url.fingerprint import Placement
from schemas.schedule import FetchOrder


class Routing(Protocol):
    """A policy. Orders have fields for its name and version, whose defaults are those of HostHash; a second policy has to set them."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    def partition(self, order: FetchOrder) -> int: ...


class HostHash:
    """Where the server's other records are."""

    name: Final[str] = "host-hash"
    version: Final[int] = 1

    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    def partition(self, order: FetchOrder) -> int:
        return self._placement.partition(order.server)
