"""Items taken once more from pages that were fetched before: the extractor itself, of which nothing but its items leaves.

Pages are read, linked and judged as in a crawl, so that an item is what a crawl with these rules would have made of the page, counts of
links included. What is found beside items (links, verdicts, servers that join the scope) goes nowhere.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from gregor.config import Config
from gregor.errors import UsageError
from gregor.runtime.loops.contract import NOTHING, Decode, Received, Work
from gregor.runtime.transport.port import Assignment, Output, Record, StageSpec, TopicPartition
from gregor.url.fingerprint import Placement
from schemas.codec import Undecodable
from schemas.control import decode_control
from schemas.items import decode_item
from schemas.pages import PageFacts, decode_facts
from workers.extractor.stage import ExtractorStage

ITEMS: Final = "items"


def _facts(record: Record) -> PageFacts | None:
    """None: the record is no page; the extractor of the crawl has made a dead letter of it."""
    try:
        return decode_facts(record.header)
    except Undecodable:
        return None


class Reextraction(ExtractorStage):
    """``topic``: where the items go. ``starts``: the first offset of each partition that is wanted; None: everything is."""

    decoders: Mapping[str, Decode] = {"pages": _facts, "control": lambda record: decode_control(record.value)}

    def __init__(
        self, config: Config, placement: Placement, topic: str = ITEMS, starts: Mapping[int, int] | None = None
    ) -> None:
        super().__init__(config, placement)
        self.spec = StageSpec(name=f"reextract-{topic}", inputs=("pages",), broadcast=("control",), outputs=(topic,))
        self._topic = topic
        self._starts = starts
        self._pending: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        """Committed ones: ``pages``, ``unreadable``, and ``item:RULE``."""

    def assigned(self, partition: int, assignment: Assignment) -> None:
        super().assigned(partition, assignment)
        noted = assignment.positions["pages"].metadata
        if noted and noted != self._config.config_version:
            raise UsageError(
                f"expected rules of version {noted}, under which {self._topic} was begun, found {self._config.config_version}",
                remedy="name another topic for other rules",
            )

    def note(self, where: TopicPartition) -> str:
        """Beside a position: which rules led there."""
        return self._config.config_version

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        wanted = [one for one in received if self._is_wanted(one.record)]
        pages = [one for one in wanted if one.value is not None]
        self._pending["unreadable"] += len(wanted) - len(pages)
        self._pending["pages"] += len(pages)
        items = [one for one in super().process(pages, now_ms).outputs if one.topic == ITEMS]
        for one in items:
            self._pending[f"item:{decode_item(one.value).rule}"] += 1
        return Work([replace(one, topic=self._topic) for one in items], len(items))

    def _is_wanted(self, record: Record) -> bool:
        if self._starts is None:
            return True
        start = self._starts.get(record.partition)
        return start is not None and record.offset >= start

    def tick(self, now_ms: int) -> Work:
        return NOTHING

    def drain(self, now_ms: int) -> Work:
        return NOTHING

    def next_due_ms(self) -> int | None:
        return None

    def prepare(self) -> Sequence[Output]:
        return ()

    def committed(self) -> None:
        super().committed()
        self.counts += self._pending
        self._pending.clear()

    def dropped(self) -> None:
        super().dropped()
        self._pending.clear()

    def failures(self) -> dict[str, int]:
        """What rules could not do, by reason."""
        return {reason: count for (_, reason), count in self.tally.totals.items() if reason.startswith("item")}
