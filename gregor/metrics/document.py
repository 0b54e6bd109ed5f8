"""The tables of docs/metrics.md, made from the catalogue: `python -m gregor.metrics.document` prints them."""

from collections.abc import Iterator
from typing import Final

from gregor.stage.catalogue import METRICS, Metric

EVERY: Final = "every role"


def document() -> str:
    return "\n".join(_tables())


def _tables() -> Iterator[str]:
    for heading in dict.fromkeys(map(_heading, METRICS)):
        yield f"### {heading[0].upper()}{heading[1:]}\n"
        yield "| metric | kind | labels | |"
        yield "|---|---|---|---|"
        for metric in METRICS:
            if _heading(metric) == heading:
                labels = ", ".join(f"`{label}`" for label in metric.labels)
                yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"
        yield ""


def _heading(metric: Metric) -> str:
    return " and ".join(metric.roles) or EVERY


if __name__ == "__main__":
    print(document(), end="")
