"""The sites of one partition: what is known of each, what waits for it, and what of this waits for the checkpoint.

Look-ups are made for every record, so that a batch's are read together and the latest stay in memory. What was changed since the last
checkpoint stays until it is over; an abort forgets it and reads anew.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from itertools import islice
from typing import Final

from msgspec.structs import replace

from gregor.config import Config
from gregor.config.servers import ServerSettings
from gregor.runtime.state.packed import Operation
from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import HashPlacement
from schemas.sites_found import FoundSite
from streams.frontier.sites.site_record import (
    BLOCKED,
    KNOWN,
    MEMBER,
    WORKED_OFF,
    SiteRecord,
    decode_site_record,
    encode_site,
)
from streams.frontier.storage.families import NUMBERS, SITES, WAITING

REMEMBERED: Final = 32_768
"""Sites that stay in memory after a checkpoint."""
HANDED_RECORDS: Final = 1000
HANDED_BYTES: Final = 1024 * 1024
"""Of waiting links that one checkpoint works off."""
_NUMBER: Final = 8


class Sites:
    """Of one partition."""

    def __init__(self, partition: int, state: StateReader, config: Config) -> None:
        layout = config.partitions
        self.partition = partition
        self.partitions = layout.partitions
        self.by_domain = layout.partition_by == "domain"
        self.most_held = config.sites.waiting_links
        placement = HashPlacement(layout.repositories, layout.partitions, layout.partition_by)
        self.site_of: Callable[[str], str] = placement.site
        self._state = state
        self._usual = config.for_server
        self._home = placement.partition
        self._known: dict[str, SiteRecord | None] = {}
        self._changed: dict[str, SiteRecord] = {}
        self._operations: dict[tuple[int, bytes], bytes | None] = {}
        self.told: list[FoundSite] = []
        """Met for the first time since the last checkpoint."""
        self.outputs: list[Output] = []
        """Records on their way to other partitions, until the stage takes them."""
        self.blocked: set[str] = set()
        """Owned and blocked."""
        self.leaving: dict[bytes, None] = {}
        """Servers of theirs whose queues may hold anything."""
        self.ending: dict[str, None] = {}
        """Sites whose waiting links are being worked off."""
        self._records_left, self._bytes_left = HANDED_RECORDS, HANDED_BYTES
        self._joined: dict[str, dict[bytes, None]] = {}
        self._to_look_at = True
        self.load()

    def load(self) -> None:
        """Read what there is to do."""
        self.ending = {key[1:].decode(): None for key, _ in self._markers(WORKED_OFF)}
        self.blocked = {key[1:].decode() for key, _ in self._markers(BLOCKED)}
        self.leaving = {server: None for site in sorted(self.blocked) for server in self.servers_of(site)}
        self._to_look_at = True

    def _markers(self, kind: bytes, site: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        return self._state.scan(SITES, kind + site, kind + site + b"\xff")

    def home(self, site: str) -> int:
        return self._home(site)

    def get(self, site: str) -> SiteRecord | None:
        """None: it was never heard of."""
        if site in self._known:
            return self._known[site]
        stored = self._state.get(SITES, KNOWN + site.encode())
        known = self._known[site] = None if stored is None else decode_site_record(stored)
        return known

    def prefetch(self, sites: Iterable[str]) -> None:
        """Read these together, in the order in which they stand in the state."""
        known = self._known
        missing = sorted({site for site in sites if site not in known})
        if len(missing) > 1:
            found = self._state.get_many(SITES, [KNOWN + site.encode() for site in missing])
            for site, stored in zip(missing, found, strict=True):
                known[site] = None if stored is None else decode_site_record(stored)

    def put(self, site: str, known: SiteRecord) -> None:
        """What is known of it has changed."""
        self._known[site] = self._changed[site] = known

    def owns(self, server: str) -> bool:
        known = self.get(self.site_of(server))
        return known is not None and known.owned

    def settings(self, server: str) -> ServerSettings:
        """Those of the configuration, and in their place what was decided of the site."""
        usual = self._usual(server)
        known = self.get(self.site_of(server))
        if known is None or not (known.budget or known.max_depth):
            return usual
        return replace(usual, budget=known.budget or usual.budget, max_depth=known.max_depth or usual.max_depth)

    def keep(self, site: str, known: SiteRecord, value: bytes, links: int) -> None:
        """A record waits, behind those that do."""
        self._operations[NUMBERS[WAITING], waiting_key(site, known.following)] = value
        known.following += 1
        known.links += links
        self.put(site, known)

    def waiting(self, site: str, known: SiteRecord) -> Iterator[tuple[int, bytes]]:
        """Numbers and records that wait, as of the last checkpoint, as many as may be worked off in this one."""
        start, end = waiting_key(site, known.first), waiting_key(site, known.following)
        for key, value in islice(self._state.scan(WAITING, start, end), self._records_left):
            if self._bytes_left <= 0:
                break
            self._records_left -= 1
            self._bytes_left -= len(value)
            yield int.from_bytes(key[-_NUMBER:], "big"), value

    def work_off(self, site: str) -> None:
        """Its waiting links go where they belong, from now on."""
        self._mark(WORKED_OFF, site)
        self.ending[site] = None
        self._to_look_at = True

    def rest(self, site: str) -> None:
        """Nothing of it is to be worked off, or not any more."""
        self._unmark(WORKED_OFF, site)
        self.ending.pop(site, None)

    def remove(self, site: str, known: SiteRecord, number: int, links: int) -> None:
        """A record does not wait any more; it was the first."""
        self._operations[NUMBERS[WAITING], waiting_key(site, number)] = None
        known.first = number + 1
        known.links -= links
        self.put(site, known)

    def looked(self) -> None:
        """All was worked off that this checkpoint can."""
        self._to_look_at = False

    @property
    def hands_over(self) -> bool:
        """Whether waiting links can be worked off now."""
        return self._to_look_at and bool(self.ending) and self._records_left > 0 and self._bytes_left > 0

    @property
    def busy(self) -> bool:
        """Whether there is anything to do that waits for no time."""
        return bool(self.leaving) or self.hands_over

    def block(self, site: str) -> None:
        self._mark(BLOCKED, site)
        self.blocked.add(site)
        self.leaving.update(dict.fromkeys(self.servers_of(site)))

    def unblock(self, site: str) -> None:
        if site in self.blocked:
            self._unmark(BLOCKED, site)
            self.blocked.discard(site)

    def is_blocked(self, server: str) -> bool:
        return bool(self.blocked) and self.site_of(server) in self.blocked

    def queued_again(self, server: bytes) -> None:
        """A URL came back into a queue."""
        if self.blocked and self.site_of(server.decode()) in self.blocked:
            self.leaving[server] = None

    def joined(self, server: bytes) -> None:
        """A server got its first URL."""
        if self.by_domain:
            site = self.site_of(server.decode())
            self._joined.setdefault(site, {})[server] = None
            self._operations[NUMBERS[SITES], MEMBER + site.encode() + b"\0" + server] = b""

    def servers_of(self, site: str) -> list[bytes]:
        """Those that ever got a URL, and perhaps others."""
        if not self.by_domain:
            return [site.encode()]
        start = MEMBER + site.encode() + b"\0"
        stored = [key[len(start) :] for key, _ in self._state.scan(SITES, start, start + b"\xff")]
        return [*stored, *self._joined.get(site, ())]

    def _mark(self, kind: bytes, site: str) -> None:
        self._operations[NUMBERS[SITES], kind + site.encode()] = b""

    def _unmark(self, kind: bytes, site: str) -> None:
        self._operations[NUMBERS[SITES], kind + site.encode()] = None

    def operations(self) -> list[Operation]:
        """The changes of both families."""
        changes: list[Operation] = [(family, key, value) for (family, key), value in self._operations.items()]
        number = NUMBERS[SITES]
        return changes + [(number, KNOWN + site.encode(), encode_site(one)) for site, one in self._changed.items()]

    def committed(self) -> None:
        self._settle()
        self._to_look_at = True
        if len(self._known) > REMEMBERED:
            for site in list(islice(self._known, len(self._known) - REMEMBERED // 2)):
                del self._known[site]

    def dropped(self) -> None:
        """Nothing since the last checkpoint has happened; ``load`` follows before anything else."""
        for site in self._changed:
            self._known.pop(site, None)
        self.outputs = []
        self._settle()

    def _settle(self) -> None:
        self._changed = {}
        self._operations = {}
        self.told = []
        self._joined = {}
        self._records_left, self._bytes_left = HANDED_RECORDS, HANDED_BYTES


def waiting_key(site: str, number: int) -> bytes:
    return site.encode() + b"\0" + number.to_bytes(_NUMBER, "big")


class HeldServers(Set[str]):
    """Servers of which nothing is ordered: those that somebody has paused, and those of blocked sites."""

    def __init__(self, paused: Set[str], sites: Sites) -> None:
        self._paused = paused
        self._sites = sites

    def __contains__(self, server: object) -> bool:
        return server in self._paused or (isinstance(server, str) and self._sites.is_blocked(server))

    def __iter__(self) -> Iterator[str]:
        blocked = (server.decode() for site in self._sites.blocked for server in self._sites.servers_of(site))
        return iter({*self._paused, *blocked})

    def __len__(self) -> int:
        """None at all is what has to be told fast."""
        return len(self._paused) + len(self._sites.blocked)
