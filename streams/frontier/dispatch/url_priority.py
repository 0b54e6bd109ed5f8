"""How urgent a URL is within its depth: one small interface, one class a policy, chosen by the configuration."""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from gregor.config.frontier import FrontierSection
from schemas.discovered import Discovered, LinkKind, Rel
from streams.frontier.storage.uniqueness.facts import COUNT_UNIT, U8, U32, Facts

USUAL: Final = 100
UNENDORSED: Final = 200
"""Links whose page does not vouch for them: nofollow, ugc, sponsored."""
_KINDS: Final[dict[LinkKind, int]] = {"seed": 0, "redirect": 80, "requisite": 60, "canonical": 90, "alternate": 120}
_ENDORSEMENT: Final = int(Rel.NOFOLLOW | Rel.UGC | Rel.SPONSORED)


class Priority(Protocol):
    """0 is the most urgent, 255 the least."""

    by_count: bool
    """Whether repeated discoveries change a priority, which costs a look-up of each."""

    def of(self, found: Discovered) -> int | Sequence[int]:
        """The priority of all URLs of a record, or of each one."""
        ...

    def raised(self, priorities: U8, counts: U32, known: U32) -> U8:
        """With what is known of the URLs (packed facts, 0 where new) and how often they were found now."""
        ...


class BreadthFirst:
    """By kind of link alone: within a depth all pages are alike."""

    by_count = False

    def of(self, found: Discovered) -> int | Sequence[int]:
        usual = _KINDS.get(found.kind, USUAL)
        if not found.flags:
            return usual
        return [UNENDORSED if flags & _ENDORSEMENT else usual for flags in found.flags]

    def raised(self, priorities: U8, counts: U32, known: U32) -> U8:
        return priorities


class LinkCount(BreadthFirst):
    """The more often a URL was found, the more urgent: eight steps for each doubling."""

    by_count = True

    def raised(self, priorities: U8, counts: U32, known: U32) -> U8:
        total = np.maximum(counts, 1) + Facts(known).count.astype(np.uint32) * np.uint32(COUNT_UNIT)
        raised = priorities.astype(np.int64) - (np.log2(total) * 8).astype(np.int64)
        clipped: U8 = np.clip(raised, 0, 255).astype(np.uint8)
        return clipped


def priority_by(settings: FrontierSection) -> Priority:
    return LinkCount() if settings.priority == "link-count" else BreadthFirst()
