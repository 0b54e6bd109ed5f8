"""Every site that is known: which ones are new, their rows, and the first links of those that were never placed.

Rows are read as of now: what has changed since the last checkpoint first, then the state. ``mutations`` gives the changes; ``committed``
and ``dropped`` end them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from gregor.errors import CorruptState
from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import StateReader
from schemas.codec import Undecodable, encode
from schemas.sites import Site, decode_site
from streams.coordinator.deltas import pack_operations, pack_puts
from streams.coordinator.families import NUMBERS, ORIGINS, REGISTRY
from streams.frontier.storage.uniqueness.engine import UniquenessEngine, UrlBatch

U64 = npt.NDArray[np.uint64]

_NOT_COUNTED: Final = 65_535
"""Repetitions in a unit of the engine's counts: how often a site was told is nobody's question, and would only be written."""


class Origin(Struct, frozen=True, array_like=True, gc=False):
    """The first link to a site that was not placed yet."""

    server: str
    scheme: Literal["http", "https"]
    hops: int = 0
    off_site: int = 0
    seed: int = 0


_encode_origin = msgspec.msgpack.Encoder().encode
_decode_origin = msgspec.msgpack.Decoder(Origin).decode


def hashes_of(sites: Sequence[str]) -> U64:
    """As gregor.url.fingerprint hashes servers."""
    return np.array([xxh3_64_intdigest(site.encode()) for site in sites], dtype=np.uint64)


def read_row(site: str, value: bytes) -> Site:
    try:
        return decode_site(value)
    except Undecodable as error:
        raise CorruptState(f"the registry's row of {site} cannot be read: {error}") from error


class Registry:
    """Of the one partition."""

    def __init__(self, state: StateReader) -> None:
        self._state = state
        self._engine = UniquenessEngine(state, count_unit=_NOT_COUNTED)
        self._rows: dict[str, Site] = {}
        """Changed since the last checkpoint."""
        self._origins: dict[str, Origin | None] = {}
        self._encoded: tuple[list[bytes], list[bytes]] | None = None

    def new_among(self, sites: Sequence[str], hashes: U64) -> list[bool]:
        """True at the first occurrence of each that nobody had told of; it has to be put then."""
        zeros = np.zeros(len(sites), dtype=np.uint64)
        small = zeros.astype(np.uint8)
        batch = UrlBatch(hashes, zeros, zeros.astype(np.uint16), small, np.ones(len(sites), dtype=np.uint32))
        new: list[bool] = self._engine.check(batch).new.tolist()
        return new

    def rows(self, sites: Sequence[str]) -> dict[str, Site]:
        """Those that are known, once each, in the order asked for."""
        wanted = dict.fromkeys(sites)
        unchanged = [site for site in wanted if site not in self._rows]
        values = self._state.get_many(REGISTRY, [site.encode() for site in unchanged]) if unchanged else []
        stored = dict(zip(unchanged, values, strict=True))
        found = {}
        for site in wanted:
            if (value := stored.get(site)) is not None:
                found[site] = read_row(site, value)
            elif site in self._rows:
                found[site] = self._rows[site]
        return found

    def origins(self, sites: Sequence[str]) -> dict[str, Origin]:
        """First links of those that were not placed yet."""
        unchanged = [site for site in sites if site not in self._origins]
        values = self._state.get_many(ORIGINS, [site.encode() for site in unchanged]) if unchanged else []
        found = {
            site: _decode_origin(value) for site, value in zip(unchanged, values, strict=True) if value is not None
        }
        found.update((site, known) for site in sites if (known := self._origins.get(site)) is not None)
        return found

    def put(self, rows: Iterable[Site]) -> None:
        self._encoded = None
        self._rows.update((row.site, row) for row in rows)

    def put_origins(self, origins: Mapping[str, Origin | None]) -> None:
        """None: the site is placed now."""
        self._origins.update(origins)

    @property
    def changed(self) -> int:
        return len(self._rows)

    def encoded(self) -> tuple[list[bytes], list[bytes]]:
        """Keys and values of the rows that have changed, for the state and for topic `sites`."""
        if self._encoded is None:
            self._encoded = [site.encode() for site in self._rows], [encode(row) for row in self._rows.values()]
        return self._encoded

    def mutations(self) -> Iterator[Mutation]:
        yield from self._engine.deltas()
        yield from pack_puts(REGISTRY, *self.encoded())
        number = NUMBERS[ORIGINS]
        yield from pack_operations(
            ORIGINS,
            [
                (number, site.encode(), None if origin is None else _encode_origin(origin))
                for site, origin in self._origins.items()
            ],
        )

    def committed(self) -> None:
        self._engine.committed()
        self._settle()

    def dropped(self) -> None:
        self._engine.aborted()
        self._settle()

    def _settle(self) -> None:
        self._rows, self._origins, self._encoded = {}, {}, None
