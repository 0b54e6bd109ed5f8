"""Lines in an SVG file, drawn the same from the same figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.engines.provision import Missing


class Axes(Struct, frozen=True, kw_only=True):
    """What the picture says beside its lines."""

    title: str
    x: str
    y: str
    scale: Literal["linear", "log"] = "linear"


def lines(path: Path, axes: Axes, series: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """One line for each name, with a mark at each point; a name that ends in "(paper)" is dashed."""
    try:
        from matplotlib import rcParams
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Missing("expected matplotlib for the plot, found none", remedy='pip install -e ".[bench]"') from error
    rcParams["svg.hashsalt"] = "gregor"
    rcParams["svg.fonttype"] = "none"
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    plot = figure.add_subplot()
    for name, points in series.items():
        style = "--" if name.endswith("(paper)") else "-"
        plot.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, linestyle=style, label=name)
    plot.set(title=axes.title, xlabel=axes.x, ylabel=axes.y, yscale=axes.scale)
    if axes.scale == "linear":
        plot.set_ylim(bottom=0)
    plot.grid(alpha=0.3)
    plot.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
