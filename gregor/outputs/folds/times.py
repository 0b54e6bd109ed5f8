"""How long requests took: count, sum, greatest, and a histogram from which percentiles are read, all of which can be added."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct

_EXACT: Final = 16
_PARTS: Final = 8
_LONGEST: Final = 1 << 40


class Times(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Milliseconds. Below 16 ms the histogram is exact, above it has eight buckets for each power of two."""

    count: int = 0
    sum_ms: int = 0
    most_ms: int = 0
    buckets: dict[int, int] = {}
    """Number of a bucket to its requests."""

    @property
    def mean_ms(self) -> float:
        return self.sum_ms / self.count if self.count else 0.0

    def percentile(self, share: float) -> float:
        """The time within which ``share`` (0 to 1) of the requests ended, at most an eighth off; 0.0 without any."""
        wanted = share * self.count
        passed = 0
        for bucket in sorted(self.buckets):
            here = self.buckets[bucket]
            if passed + here >= wanted:
                low, width = _span(bucket)
                within = (wanted - passed) / here
                # A bucket of one value is that value; within a wider one requests are taken to be spread evenly.
                return min(low + (width * within if width > 1 else 0.0), float(self.most_ms))
            passed += here
        return float(self.most_ms)


def times_of(values: Iterable[int]) -> Times:
    count = total = most = 0
    buckets: dict[int, int] = {}
    for given in values:
        value = given if 0 <= given <= _LONGEST else 0
        count += 1
        total += value
        if value > most:
            most = value
        bucket = _bucket(value)
        buckets[bucket] = buckets.get(bucket, 0) + 1
    return Times(count=count, sum_ms=total, most_ms=most, buckets=buckets)


def add_times(one: Times, other: Times) -> Times:
    if not other.count:
        return one
    buckets = dict(one.buckets)
    for bucket, count in other.buckets.items():
        buckets[bucket] = buckets.get(bucket, 0) + count
    return Times(
        count=one.count + other.count,
        sum_ms=one.sum_ms + other.sum_ms,
        most_ms=max(one.most_ms, other.most_ms),
        buckets=buckets,
    )


@lru_cache(maxsize=4096)
def _bucket(value: int) -> int:
    if value < _EXACT:
        return value
    power = value.bit_length() - 1
    return _EXACT + (power - 4) * _PARTS + ((value >> (power - 3)) & (_PARTS - 1))


def _span(bucket: int) -> tuple[int, int]:
    """Its least value, and how many values it has."""
    if bucket < _EXACT:
        return bucket, 1
    power, part = divmod(bucket - _EXACT, _PARTS)
    return (_PARTS + part) << (power + 1), 1 << (power + 1)
