"""A site's life.

                                    sites.admit = "approved"
    arrives ─────────────────────────────────────────────► waiting ◄── nobody comes back here
       │                                                      │
       │ "all"                                                │ approve
       ├──────────────────────────────────────────────────────┤
       │ its name has to be resolved                          │ nothing has to be resolved
       ▼                                                      ▼
     found ─────────────── it has an address ───────────►  placed ◄───────────────┐
       │  ▲                                                   ▲                   │ approve, of one that was placed before
       │  │ approve                                           │                   │
       │  └───────────────┐                                   │                   │
       │ it has none      │                                   │ it has one now    │
       └──────────► unresolvable ─────────────────────────────┘                   │
                          ▲ asked again later                                     │
                          └── still none                                          │
                                                                                  │
    any of them ──────────────────── block ──────────────────────────────►  blocked ── approve, of another ──► as from waiting

A site's rank and slot are given when it arrives and never change, whatever becomes of it. ``placed`` for the first time means that its
slot is granted to it and its root page injected; from then on the slot has it for good, also while it is blocked.
"""

from schemas.sites import SiteState


def on_arrival(*, approval: bool, needs_address: bool) -> SiteState:
    return "waiting" if approval else _admitted(needs_address)


def on_approve(state: SiteState, *, was_placed: bool, needs_address: bool) -> SiteState:
    if state in ("placed", "found"):
        return state
    # One without an address is asked for again at once: whoever approves it expects that it has one now.
    return "placed" if was_placed else _admitted(needs_address)


def on_address(state: SiteState) -> SiteState:
    return "placed" if state in RESOLVING else state


def on_no_address(state: SiteState) -> SiteState:
    return "unresolvable" if state in RESOLVING else state


RESOLVING = frozenset[SiteState](("found", "unresolvable"))
"""States in which an answer of a name server changes anything."""


def _admitted(needs_address: bool) -> SiteState:
    return "found" if needs_address else "placed"
