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

from schemas.verdicts import VerdictKind
from streams.frontier.partition_state import PartitionState
from streams.frontier.storage.queue import Entry
from streams.frontier.storage.queue_codec import PLACE_BYTES, path_of, scheme_of
from streams.frontier.storage.server import LiveServer
from streams.frontier.storage.uniqueness.facts import UrlState

_STATES = {"failed": UrlState.FAILED, "dropped": UrlState.REFUSED}
_KINDS: dict[str, VerdictKind] = {"failed": "given-up", "dropped": "refused"}


def drop(
    state: PartitionState, live: LiveServer, entries: list[Entry], counter: str, reason: str, detail: str = ""
) -> None:
    """URLs that end as ``failed`` or ``dropped``, counted by reason, with a verdict."""
    if not entries:
        return
    state.count(counter, len(entries))
    state.count(f"{counter}_{reason}", len(entries))
    example = entries[0][1]
    url = f"{scheme_of(example)}://{live.text}{path_of(example)}"
    state.verdicts.note(live.text, _KINDS[counter], reason, url, len(entries), detail)
    settle(state, live, [place for place, _ in entries], _STATES[counter])


def settle(state: PartitionState, live: LiveServer, places: list[bytes], end: UrlState) -> None:
    """Write the end of these URLs into U."""
    state.pending_states.add(end, live.hash, b"".join([place[PLACE_BYTES - 8 :] for place in places]))
