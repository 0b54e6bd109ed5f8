"""Speed over agents: n agents on one broker crawl a generated web, each with 15 Mbit/s of its own, and once more without a limit.

    python -m bench.scaling [--quick] [--json] [--modes hash,full,two-level] [--agents 1,2,3,5,7] [--held-out 4] [--pages 20000]

The paper's experiment (004, figures 7 to 11) on two cores: `hash` with one agent is its single machine, `full` its crawler, `two-level` the
same without exchanging URLs of pages. Pages a second are those of the window in which every fetcher was at work. Below 70% of the
processors the throttled speed-up follows from the throttle, so that the one without a limit stands beside it; a run above is marked.
--quick has neither that nor a coordinator.
"""

import os
from collections.abc import Sequence
from typing import Any, Final, get_args

import msgspec

from bench.report import finish, machine, parser
from bench.scaled.run import BUSY, Mode, ScalingRun, measure
from gregor.plan.fitting import Line, by_least_squares, by_neighbours

AGENTS: Final = (1, 2, 3, 5, 7)
QUICK_AGENTS: Final = (1, 2, 3)
PAGES: Final = 5000
"""Of a run, for each agent: about a minute of its bandwidth."""
QUICK_PAGES: Final = 900


def main(arguments: Sequence[str] | None = None) -> None:
    asked_for = parser(__doc__)
    asked_for.add_argument("--modes", default="", help="of hash, full, two-level, with commas")
    asked_for.add_argument("--agents", default="", help="numbers of agents, with commas")
    asked_for.add_argument(
        "--held-out", type=int, default=4, help="a number of agents that no model is made from; 0: none"
    )
    asked_for.add_argument("--pages", type=int, default=0, help="of a run, for each agent")
    asked = asked_for.parse_args(arguments)
    modes = _modes(asked.modes or ("hash" if asked.quick else "hash,full,two-level"))
    agents = (
        [int(one) for one in asked.agents.split(",")] if asked.agents else list(QUICK_AGENTS if asked.quick else AGENTS)
    )
    pages = asked.pages or (QUICK_PAGES if asked.quick else PAGES)
    held_out = 0 if asked.quick else asked.held_out
    print(machine("confluent-kafka", "numpy"))
    runs = [
        _run(mode, n, pages * n, throttled)
        for throttled in ((True,) if asked.quick else (True, False))
        for mode in modes
        for n in sorted({*agents, *([held_out] if held_out and mode == modes[-1] else [])})
    ]
    finish(figures_of(runs, held_out), asked.json)


def _modes(text: str) -> list[Mode]:
    found: list[Mode] = []
    for name in text.split(","):
        if name not in get_args(Mode):
            raise SystemExit(f"expected modes of {', '.join(get_args(Mode))}, found {name!r}")
        found.append(msgspec.convert(name, Mode))
    return found


def _run(mode: Mode, agents: int, pages: int, throttled: bool) -> ScalingRun:
    one = measure(mode, agents, pages, throttled=throttled, cores=os.cpu_count() or 1)
    limit = "15 Mbit/s an agent" if throttled else "no limit"
    mark = f"  BUSY: above {BUSY:.0%} of the processors" if one.busy else ""
    print(
        f"{mode:10} {agents} agents, {limit}: {one.pages_per_s:8,.1f} pages/s in {one.window_s:.1f} s ({one.window_pages:,} pages), "
        f"{one.cpu_share:.0%} of the processors, {one.commits_per_s:,.0f} transactions on partitions a second, "
        f"partitions {list(one.partitions_of)}, {one.covered:.1%} covered{mark}",
        flush=True,
    )
    print("           ms a page: " + ", ".join(f"{role} {spent:.3f}" for role, spent in one.cpu_ms.items()), flush=True)
    return one


def figures_of(runs: Sequence[ScalingRun], held_out: int) -> dict[str, Any]:
    """Everything that the issue of scaling asks for, as far as the runs have it."""
    figures: dict[str, Any] = {"runs": msgspec.to_builtins(runs)}
    for throttled, name in ((True, "speedup"), (False, "speedup_unthrottled")):
        rates = {(one.mode, one.agents): one.pages_per_s for one in runs if one.throttled == throttled}
        mode = next((one for one in ("full", "hash", "two-level") if (one, 1) in rates), None)
        if mode is None:
            continue
        speedups = {n: round(rate / rates[mode, 1], 3) for (its, n), rate in sorted(rates.items()) if its == mode}
        figures[name] = speedups
        most = max(speedups)
        figures[f"{name}_of_{most}"] = speedups[most]
        if throttled:
            figures |= _beside(rates, most)
        model = model_of({n: rate for (its, n), rate in rates.items() if its == mode}, held_out)
        if model:
            figures["model" if throttled else "model_unthrottled"] = model
    figures["cpu_share"] = {
        f"{one.mode}-{one.agents}{'' if one.throttled else '-unthrottled'}": one.cpu_share for one in runs
    }
    figures["overheads"] = {
        f"{one.mode}-{one.agents}-{one.pages}": {"cpu_ms": dict(one.cpu_ms), "bytes": dict(one.bytes_a_page)}
        for one in runs
        if one.throttled
    }
    return figures


def _beside(rates: dict[tuple[Mode, int], float], most: int) -> dict[str, float]:
    """The coordinator's cost to one agent, and what exchanging URLs of pages costs the most agents."""
    found = {}
    if ("full", 1) in rates and ("hash", 1) in rates:
        found["one_agent_loss"] = round(1 - rates["full", 1] / rates["hash", 1], 4)
    if ("full", most) in rates and ("two-level", most) in rates:
        found["coverage_overhead"] = round(1 - rates["full", most] / rates["two-level", most], 4)
    return found


def model_of(rates: dict[int, float], held_out: int) -> dict[str, Any]:
    """What an agent loses beside one alone, as a line over n - 1, made both ways; and how far they are off at the number held out."""
    points = {n: rates[1] - rate / n for n, rate in rates.items() if n != held_out and n > 1}
    if len(points) < 1 or 1 not in rates:
        return {}
    xs, ys = [0.0, *(n - 1.0 for n in points)], [0.0, *points.values()]
    lines: dict[str, Line] = {"neighbours": by_neighbours(xs, ys), "least_squares": by_least_squares(xs, ys)}
    told: dict[str, Any] = {
        name: {"start": round(line.start, 3), "slope": round(line.slope, 3), "worst": round(line.worst, 3)}
        for name, line in lines.items()
    }
    if held_out in rates and held_out > 1:
        for name, line in lines.items():
            planned = held_out * (rates[1] - line.at(held_out - 1))
            told[name]["error_held_out"] = round(planned / rates[held_out] - 1, 4)
        told["model_error_held_out"] = told["least_squares"]["error_held_out"]
    return told


if __name__ == "__main__":
    main()
