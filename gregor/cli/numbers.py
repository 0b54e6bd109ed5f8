"""Numbers on the command line."""

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number within bounds; nan is within all of them, and inf within those that are open, but neither can be counted with."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number
