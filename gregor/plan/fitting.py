"""Coefficients from measurements, in the paper's way and by least squares, each with what it leaves unexplained.

The paper takes the greatest difference between neighbouring points for the slope, and the first point for the beginning: never too
hopeful, and as good as its noisiest point. Least squares uses all points.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct


class Line(Struct, frozen=True):
    """y = start + slope x, and how far it is off at each point that it was made from."""

    start: float
    slope: float
    residuals: tuple[float, ...]

    def at(self, x: float) -> float:
        return self.start + self.slope * x

    @property
    def worst(self) -> float:
        return max(map(abs, self.residuals))


def by_neighbours(xs: Sequence[float], ys: Sequence[float]) -> Line:
    """The greatest difference between neighbours for one step of x; it begins at the first point."""
    _require_points(xs, ys)
    points = sorted(zip(xs, ys, strict=True))
    slope = max((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in pairwise(points))
    x, y = points[0]
    return _line(y - slope * x, slope, xs, ys)


def by_least_squares(xs: Sequence[float], ys: Sequence[float]) -> Line:
    _require_points(xs, ys)
    slope, start = np.polyfit(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float), 1)
    return _line(float(start), float(slope), xs, ys)


def _line(start: float, slope: float, xs: Sequence[float], ys: Sequence[float]) -> Line:
    return Line(start, slope, tuple(y - (start + slope * x) for x, y in zip(xs, ys, strict=True)))


def _require_points(xs: Sequence[float], ys: Sequence[float]) -> None:
    if len(xs) != len(ys) or len(set(xs)) < 2:
        raise ValueError(f"expected at least two different points, found {len(xs)} and {len(ys)} values")
