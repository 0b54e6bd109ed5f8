"""The ends of a URL's life after admission.

                       ┌───────────── returned (expired, cancelled, no answer) ───────────┐
                       ▼                                                                  │
    admitted ──►    QUEUED ──────────────── order ──────────────────────────────►      LEASED
                    ▲  ▲ │                                                         │ │ │  │
      time has come │  │ └─► dropped (robots)                                      │ │ │  └─► failed (attempts used up)
                    │  │ └─► failed (server given up)                              │ │ │
                 RETRYING ◄──────────── failed, attempts left ─────────────────────┘ │ │
                       │                                                             │ │
                       └─ AGAIN (the server waits, or a redirect led to itself) ◄────┘ │
                    REVISITING ◄────────── confirmed, r(K) > 0 ────────────────────────┤
                                                                                       └─► confirmed

Exact at every checkpoint, for each partition:

    admitted + recrawled = queued + leased + retrying + confirmed + failed + dropped
"""

from enum import Enum

from schemas.verdicts import VerdictKind
from streams.frontier.books import Books
from streams.frontier.entry import PLACE_BYTES, path_of, scheme_of
from streams.frontier.queue import Entry
from streams.frontier.server import LiveServer
from streams.frontier.uniqueness.facts import UrlState


class Life(Enum):
    """Where an admitted URL is; the diagram above. The names are those of the counters."""

    QUEUED = "queued"
    LEASED = "leased"
    RETRYING = "retrying"
    REVISITING = "revisiting"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    DROPPED = "dropped"


_STATES = {"failed": UrlState.FAILED, "dropped": UrlState.REFUSED}
_KINDS: dict[str, VerdictKind] = {"failed": "given-up", "dropped": "refused"}


def drop(books: Books, live: LiveServer, entries: list[Entry], counter: str, reason: str, detail: str = "") -> None:
    """URLs that end as ``failed`` or ``dropped``, counted by reason, with a verdict."""
    if not entries:
        return
    books.count(counter, len(entries))
    books.count(f"{counter}_{reason}", len(entries))
    example = entries[0][1]
    url = f"{scheme_of(example)}://{live.text}{path_of(example)}"
    books.verdicts.note(live.text, _KINDS[counter], reason, url, len(entries), detail)
    settle(books, live, [place for place, _ in entries], _STATES[counter])


def settle(books: Books, live: LiveServer, places: list[bytes], state: UrlState) -> None:
    """Write the end of these URLs into U."""
    books.moves.add(state, live.hash, b"".join([place[PLACE_BYTES - 8 :] for place in places]))
