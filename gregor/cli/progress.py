"""How a running crawl is shown: one line that is rewritten on a terminal, a line now and then elsewhere, objects for machines."""

import sys
import time
from collections import deque
from datetime import datetime
from typing import Any, Final

from gregor.cli.say import say, say_in_place, say_json
from gregor.run.progress import Progress

LINE_EVERY_S: Final = 1.0
RATE_OVER_S: Final = 10.0
"""The rate that is shown is that of the last seconds."""


class ProgressDisplay:
    """Gets every look at the crawl and shows some of them."""

    def __init__(self, max_pages: int, as_json: bool) -> None:
        self._max_pages = max_pages
        self._as_json = as_json
        self._terminal = not as_json and sys.stderr.isatty()
        self._began = time.monotonic()
        self._shown = self._began
        self._recent: deque[tuple[float, int]] = deque()

    def show(self, look: Progress) -> None:
        now = self._note(look)
        if self._terminal or now - self._shown >= LINE_EVERY_S:
            self._shown = now
            self._say(self.figures(look))

    def _note(self, look: Progress) -> float:
        now = time.monotonic()
        self._recent.append((now, look.counters.get("confirmed", 0)))
        while now - self._recent[0][0] > RATE_OVER_S:
            self._recent.popleft()
        return now

    def rest(self, look: Progress) -> None:
        """Nothing is left to do, and the crawl stays for what it may be given."""
        self._note(look)
        figures = self.figures(look)
        if self._as_json:
            self._say(figures)
            return
        self.end()
        say(
            f"{figures['fetched']:,} fetched, nothing is left to do; `gregor seed` gives it more, Ctrl-C ends it",
            err=True,
        )

    def end(self) -> None:
        if self._terminal:
            say_in_place("")

    def figures(self, look: Progress) -> dict[str, Any]:
        """What is shown, as it is for machines."""
        counters = look.counters
        fetched = counters.get("confirmed", 0)
        rate = self._rate()
        left = counters.get("queued", 0) + counters.get("leased", 0) + counters.get("retrying", 0)
        if self._max_pages:
            left = min(left, max(0, self._max_pages - fetched))
        return {
            "fetched": fetched,
            "per_s": round(rate, 1),
            "queued": counters.get("queued", 0),
            "in_flight": counters.get("leased", 0),
            "retrying": counters.get("retrying", 0),
            "failed": sum(count for name, count in counters.items() if name.startswith("failed_")),
            "servers": counters.get("servers"),
            "links_known": counters.get("duplicates", 0),
            "left_s": round(left / rate) if rate and left and not look.paused else None,
            "paused": look.paused,
            "waiting_until_ms": look.waiting_until_ms,
            "next_ms": look.waits_until_ms(int(time.time() * 1000)) or None,
        }

    def _rate(self) -> float:
        (begun, before), (now, after) = self._recent[0], self._recent[-1]
        return (after - before) / (now - begun) if now > begun else 0.0

    def _say(self, figures: dict[str, Any]) -> None:
        if self._as_json:
            say_json({"type": "progress", **figures})
        else:
            line = progress_line(figures)
            if self._terminal:
                say_in_place(line)
            else:
                say(line, err=True)


def progress_line(figures: dict[str, Any]) -> str:
    if figures["paused"]:
        return (
            f"{figures['fetched']:,} fetched, {figures['queued']:,} queued, {figures['in_flight']:,} in flight, "
            "paused; `gregor resume` lets it go on"
        )
    if figures["waiting_until_ms"] is not None:
        return f"{figures['fetched']:,} fetched, waiting until {_moment(figures['waiting_until_ms'])} for the next re-crawl"
    parts = [
        f"{figures['fetched']:,} fetched",
        f"{figures['per_s']:,.0f} a second",
        f"{figures['queued']:,} queued",
        f"{figures['in_flight']:,} in flight",
    ]
    if figures["servers"]:
        parts.append(f"{figures['servers']:,} {'server' if figures['servers'] == 1 else 'servers'}")
    parts += [f"{figures['failed']:,} failed"] if figures["failed"] else []
    parts += [f"{figures['retrying']:,} to be tried again"] if figures["retrying"] else []
    if figures["next_ms"] is not None:
        parts.append(f"nothing is due before {_moment(figures['next_ms'])}")
    elif figures["left_s"] is not None:
        parts.append(f"{_span(figures['left_s'])} left for what is known")
    return ", ".join(parts)


def _moment(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000):%Y-%m-%d %H:%M:%S}"


def _span(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
