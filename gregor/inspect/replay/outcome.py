"""What a replay found: counters of then and now, URLs that stand elsewhere, and what could not be judged."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from gregor.inspect.replay.plan import ReplayPlan
from streams.frontier.inspect import Life
from streams.frontier.replay.compare import Pair, Seen

_ALWAYS: Final = ("discovered", "admitted", "duplicates", "confirmed", "forwarded", "waiting", "sites_owned")
_BY_REASON: Final = ("refused_", "failed_", "dropped_")

Verdict = Literal["same", "differs", "partial", "nothing to compare with"]


def decisions(counters: Mapping[str, int], dropped: bool = True) -> dict[str, int]:
    """Of a checkpoint's counters those that do not depend on the clock. When a URL is dropped does: only at the end it says anything."""
    return {
        name: count
        for name, count in counters.items()
        if count
        and (name in _ALWAYS or name.startswith(_BY_REASON))
        and (dropped or not name.startswith(("dropped_", "failed_server")))
    }


class ReplayDifference(Struct, frozen=True, kw_only=True):
    """URLs that stand elsewhere in the replay than in the crawl."""

    then: Life
    now: Life
    urls: int
    judged: bool
    """False: what is missing in the topics may be the reason."""
    first: list[str]
    """Some of them."""


class PartitionReplay(Struct, frozen=True, kw_only=True):
    """What came of one partition."""

    plan: ReplayPlan
    seen: Seen
    compared: bool
    """Whether the crawl's state at the end was at hand."""
    then: Mapping[str, int]
    now: Mapping[str, int]
    """Counters of the crawl and of the replay at the end."""
    names: Mapping[tuple[int, int], str]
    checkpoints: int
    """The crawl's, whose counters were compared."""
    disagreeing: int
    first_disagreeing: str
    absent: int
    """URLs of orders that the replay had not queued."""
    versions: frozenset[str]
    """Configurations that the crawl's frontier ran under."""


class Outcome(Struct, frozen=True, kw_only=True):
    """Of all partitions."""

    crawl: str
    folder: str
    config_version: str
    same_config: bool
    """Whether the crawl ran under this configuration, and no other."""
    verdict: Verdict
    partitions: int
    exact: int
    """Partitions in which every step of the crawl is known."""
    records: int
    checkpoints: int
    disagreeing: int
    then: dict[str, int]
    now: dict[str, int]
    differences: list[ReplayDifference]
    absent: int
    notes: list[str]

    @property
    def differs(self) -> bool:
        return self.verdict == "differs"


class Frame(Struct, frozen=True, kw_only=True):
    """What an outcome says of the replay as a whole."""

    crawl: str
    folder: str
    config_version: str
    show: int


def outcome(frame: Frame, found: Iterable[PartitionReplay], notes: list[str]) -> Outcome:
    found = list(found)
    versions = {version for one in found for version in one.versions}
    same = versions <= {frame.config_version}
    then, now = _summed(one.then for one in found), _summed(one.now for one in found)
    differences = _differences(found, frame.show)
    disagreeing = sum(one.disagreeing for one in found)
    whole = all(one.plan.knows_all and one.plan.results_all for one in found)
    compared = [one for one in found if one.compared]
    counted = whole and len(compared) == len(found) and then != now
    if not compared:
        verdict: Verdict = "nothing to compare with"
    elif any(one.judged for one in differences) or counted or disagreeing:
        verdict = "differs"
    else:
        verdict = "same" if whole and len(compared) == len(found) else "partial"
    return Outcome(
        crawl=frame.crawl,
        folder=frame.folder,
        config_version=frame.config_version,
        same_config=same,
        verdict=verdict,
        partitions=len(found),
        exact=sum(one.plan.exact for one in found),
        records=sum(one.plan.records for one in found),
        checkpoints=sum(one.checkpoints for one in found),
        disagreeing=disagreeing,
        then=then,
        now=now,
        differences=differences,
        absent=sum(one.absent for one in found),
        notes=[*notes, *_notes(found, frame.config_version, versions)],
    )


def _summed(counters: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counters:
        for name, count in decisions(one).items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items()))


def _differences(found: list[PartitionReplay], show: int) -> list[ReplayDifference]:
    """By the way in which they differ; what cannot be judged stands apart."""
    grouped: dict[tuple[Pair, bool], tuple[int, list[str]]] = {}
    for one in found:
        for pair, count in one.seen.counts.items():
            if pair.then == pair.now:
                continue
            key = (pair, _judged(pair, one.plan))
            urls = [one.names.get(key, "a URL that discovered has no more") for key in one.seen.examples[pair]]
            before = grouped.get(key, (0, []))
            grouped[key] = (before[0] + count, [*before[1], *urls][:show])
    return [
        ReplayDifference(then=pair.then, now=pair.now, urls=count, judged=judged, first=urls)
        for (pair, judged), (count, urls) in sorted(grouped.items())
    ]


def _judged(pair: Pair, plan: ReplayPlan) -> bool:
    """Whether a difference cannot come from what is missing in the topics."""
    if pair.then == "unknown":
        return True
    if pair.now == "unknown":
        return plan.knows_all
    return plan.knows_all and plan.results_all


def _notes(found: list[PartitionReplay], version: str, versions: set[str]) -> Iterable[str]:
    for one in found:
        yield from one.plan.notes
        if not one.compared:
            yield f"partition {one.plan.partition}: the crawl's state at the end of the replay is not known any more"
        if one.first_disagreeing:
            yield one.first_disagreeing
    others = sorted(versions - {version})
    if others:
        yield f"the crawl decided under configuration {', '.join(others)}, the replay under {version}"
