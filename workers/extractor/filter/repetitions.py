"""How often known URLs were met: gathered here, and sent to the frontier as one record for each server now and then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from schemas.discovered import Discovered
from workers.extractor.filter.entries import Entry

MOST_GATHERED: Final = 100_000
"""URLs between two reports; counts of further ones are added up in ``lost``."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""The same for their texts."""
RECORD_BYTES: Final = 512 * 1024
"""Texts after which a report goes on in another record."""


class Repetitions:
    """Counts of committed pages only; a report counts as sent when it is committed."""

    def __init__(self, interval_s: float, urls_per_server: int, deepest: Callable[[str], int | None]) -> None:
        """``deepest`` gives the greatest depth that a server's URLs may have; None: the server is not reported on."""
        self._interval_ms = int(interval_s * 1000)
        self._urls_per_server = urls_per_server
        self._deepest = deepest
        self._gathered: dict[Entry, int] = {}
        self._reported: dict[Entry, int] = {}
        self._bytes = 0
        self._left_out = 0
        self._last_ms = 0
        self.lost = 0
        """Repetitions that no report named: there were too many URLs."""

    def add(self, met: Mapping[Entry, int]) -> None:
        if not self._interval_ms:
            return
        gathered = self._gathered
        for entry, times in met.items():
            if not entry.near:
                # It was refused for its distance, and a report must not bring it in.
                continue
            if entry in gathered:
                gathered[entry] += times
            elif len(gathered) < MOST_GATHERED and self._bytes < MOST_BYTES:
                gathered[entry] = times
                self._bytes += len(entry.path)
            else:
                self.lost += times

    def next_due_ms(self) -> int | None:
        return self._last_ms + self._interval_ms if self._gathered and not self._reported else None

    def report(self, now_ms: int) -> Iterator[Discovered]:
        """When it is time: a record for each server and scheme, of its most repeated URLs."""
        if not self._last_ms:
            self._last_ms = now_ms
        due = self.next_due_ms()
        if due is not None and now_ms >= due:
            yield from self.flush(now_ms)

    def flush(self, now_ms: int) -> Iterator[Discovered]:
        """The same, whether it is time or not."""
        if self._reported:
            return
        self._last_ms = now_ms
        self._reported, self._gathered, self._bytes = self._gathered, {}, 0
        servers: dict[tuple[str, str], list[tuple[int, Entry]]] = {}
        for entry, times in self._reported.items():
            servers.setdefault((entry.group.scheme, entry.group.server), []).append((times, entry))
        for (scheme, server), found in servers.items():
            deepest = self._deepest(server)
            if deepest is None:
                continue
            found.sort(key=lambda one: -one[0])
            chosen = found[: self._urls_per_server]
            self._left_out += sum(times for times, _ in found[self._urls_per_server :])
            for piece in _pieces(chosen):
                yield Discovered(
                    server=server,
                    paths=tuple(entry.path for _, entry in piece),
                    scheme="http" if scheme == "http" else "https",
                    kind="repetition",
                    counts=tuple(times for times, _ in piece),
                    # The first discovery fixes the depth, and this one must not seem to come from nearer.
                    depth=deepest,
                    found_ms=now_ms,
                )

    def committed(self) -> None:
        self.lost += self._left_out
        self._reported, self._left_out = {}, 0

    def dropped(self) -> None:
        for entry, times in self._reported.items():
            self._bytes += len(entry.path) if entry not in self._gathered else 0
            self._gathered[entry] = self._gathered.get(entry, 0) + times
        self._reported, self._left_out = {}, 0


def _pieces(chosen: Sequence[tuple[int, Entry]]) -> Iterator[Sequence[tuple[int, Entry]]]:
    """Few enough for one record."""
    begin = size = 0
    for at, (_, entry) in enumerate(chosen):
        if size > RECORD_BYTES:
            yield chosen[begin:at]
            begin, size = at, 0
        size += len(entry.path)
    yield chosen[begin:]
