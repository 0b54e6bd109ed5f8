"""How much happened when: windows of time with their counts, bounded in number.

`RecentWindows` keeps the newest windows of one width in which anything happened: a clock that is wrong by days adds a few of its own and
takes nothing from the others until they are many. `Timeline` keeps the whole crawl, in windows as wide as its length demands, which
depends on the first and the last moment alone. Any order and grouping leads to the same windows.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from gregor.outputs.folds.outcomes import NOT_ASKED, ended_ms, is_error, refused_urls
from schemas.fetched import Fetched
from schemas.verdicts import Verdict

SECOND_MS: Final = 1000
_WIDTHS_S: Final = (1, 2, 10, 30, 60, 120, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400)
"""Each divides the next, so that windows can be joined; beyond the last they double."""
LATEST_MS: Final = 253_402_300_800_000
"""The year 10000: a time beyond is no time."""


class TimeWindow(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What happened within one window."""

    requests: int = 0
    """Requests for pages that were over in it."""
    pages: int = 0
    """Those answered with 2xx."""
    errors: int = 0
    wire_bytes: int = 0
    refused: int = 0
    """URLs that verdicts of it are about."""


def add_windows(one: TimeWindow, other: TimeWindow) -> TimeWindow:
    return TimeWindow(
        requests=one.requests + other.requests,
        pages=one.pages + other.pages,
        errors=one.errors + other.errors,
        wire_bytes=one.wire_bytes + other.wire_bytes,
        refused=one.refused + other.refused,
    )


def seconds_of_fetched(record: Fetched) -> dict[int, TimeWindow]:
    """What one order adds, by the second in which each of its requests was over (milliseconds since 1970 of its beginning)."""
    if record.kind == "robots":
        return {}
    sums: dict[int, list[int]] = {}
    for one in record.results:
        ms = ended_ms(one)
        if SECOND_MS <= ms < LATEST_MS and one.outcome not in NOT_ASKED:
            counts = sums.setdefault(ms - ms % SECOND_MS, [0, 0, 0, 0])
            counts[0] += 1
            counts[1] += one.outcome == "ok"
            counts[2] += is_error(one)
            counts[3] += max(one.wire_bytes, 0)
    return {
        start: TimeWindow(requests=requests, pages=pages, errors=errors, wire_bytes=wire_bytes)
        for start, (requests, pages, errors, wire_bytes) in sums.items()
    }


def seconds_of_verdict(record: Verdict) -> dict[int, TimeWindow]:
    ms = record.decided_ms
    if not SECOND_MS <= ms < LATEST_MS:
        return {}
    return {ms - ms % SECOND_MS: TimeWindow(refused=refused_urls(record))}


class RecentWindows(Struct):
    """The newest ``keep`` windows of one width."""

    width_ms: int
    keep: int
    oldest_ms: int = 0
    """Beginning of the oldest window once there are ``keep``; 0: there are fewer."""
    windows: dict[int, TimeWindow] = {}
    """Beginning to counts; a window in which nothing happened is left out."""

    def add(self, seconds: Mapping[int, TimeWindow]) -> None:
        windows = self.windows
        for ms, window in seconds.items():
            start = ms - ms % self.width_ms
            if start < self.oldest_ms:
                continue
            known = windows.get(start)
            windows[start] = window if known is None else add_windows(known, window)
            if known is None and len(windows) >= self.keep:
                if len(windows) > self.keep:
                    del windows[self.oldest_ms]
                self.oldest_ms = min(windows)

    def merge(self, other: "RecentWindows") -> None:
        self.add(other.windows)

    def last(self, windows: int, now_ms: int) -> TimeWindow:
        """The sum of the last ``windows`` whole windows before ``now_ms``; divided by their time it is a rate."""
        end = now_ms - now_ms % self.width_ms
        total = TimeWindow()
        for start, window in self.windows.items():
            if end - windows * self.width_ms <= start < end:
                total = add_windows(total, window)
        return total


class Timeline(Struct):
    """The whole crawl in at most ``most`` windows of one width."""

    most: int = 300
    width_ms: int = SECOND_MS
    windows: dict[int, TimeWindow] = {}
    first_ms: int = 0
    """Beginning of the first second in which anything happened; 0: nothing did."""
    last_ms: int = 0

    def add(self, seconds: Mapping[int, TimeWindow]) -> None:
        for ms, window in seconds.items():
            self._reach(ms, ms)
            self._put(ms, window)

    def merge(self, other: "Timeline") -> None:
        if other.first_ms:
            self._reach(other.first_ms, other.last_ms)
            while self.width_ms < other.width_ms:
                self._widen()
            for ms, window in other.windows.items():
                self._put(ms, window)

    def series(self) -> Iterator[tuple[int, TimeWindow]]:
        """Every window from the first to the last, also those in which nothing happened."""
        if self.first_ms:
            start = self.first_ms - self.first_ms % self.width_ms
            for at in range(start, self.last_ms + 1, self.width_ms):
                yield at, self.windows.get(at, TimeWindow())

    def _put(self, ms: int, window: TimeWindow) -> None:
        start = ms - ms % self.width_ms
        self.windows[start] = add_windows(self.windows.get(start, TimeWindow()), window)

    def _reach(self, first_ms: int, last_ms: int) -> None:
        self.first_ms = min(self.first_ms or first_ms, first_ms)
        self.last_ms = max(self.last_ms, last_ms)
        while self.last_ms // self.width_ms - self.first_ms // self.width_ms >= self.most:
            self._widen()

    def _widen(self) -> None:
        self.width_ms = _wider(self.width_ms)
        windows, self.windows = self.windows, {}
        for ms, window in windows.items():
            self._put(ms, window)


def recents() -> list[RecentWindows]:
    """The last five minutes by the second, the last hour by ten seconds, the last day by the minute."""
    return [RecentWindows(SECOND_MS, 300), RecentWindows(10 * SECOND_MS, 360), RecentWindows(60 * SECOND_MS, 1440)]


def _wider(width_ms: int) -> int:
    return next((wider * SECOND_MS for wider in _WIDTHS_S if wider * SECOND_MS > width_ms), width_ms * 2)
