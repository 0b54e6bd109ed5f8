"""The tables of docs/metrics.md, made from the metrics of all roles: `python -m gregor.run.metrics_document` prints them."""

from collections.abc import Iterable, Iterator

from gregor.run.topology import ROLES
from gregor.runtime.metrics.metric_defs import COMMON, Metric


def document() -> str:
    tables = {"Every role": COMMON, **{role.name.capitalize(): role.metrics for role in ROLES.values()}}
    return "\n".join(line for heading, metrics in tables.items() for line in _table(heading, metrics))


def _table(heading: str, metrics: Iterable[Metric]) -> Iterator[str]:
    yield f"### {heading}\n"
    yield "| metric | kind | labels | |"
    yield "|---|---|---|---|"
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"
    yield ""


if __name__ == "__main__":
    print(document(), end="")
