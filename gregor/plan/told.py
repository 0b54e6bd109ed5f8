"""A plan as lines for people, as a document for programs, and the curve over machines that both the page and the document have."""

import math
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from gregor.plan import paper
from gregor.plan.planner import Bound, Plan, speed_of
from gregor.plan.profile import Profile

POINTS: Final = 60
MEANS: Final[dict[Bound, str]] = {
    "bandwidth": "the line to the Internet",
    "processor": "processors, less what transactions take",
    "politeness": "servers / delay",
    "broker": "the network between the machines",
    "disk": "what disks write",
}


def lines_of(plan: Plan, profile: Profile) -> Iterator[str]:
    """The table."""
    question, speed, layout = plan.question, plan.speed, plan.speed.layout
    machines = f"{plan.machines:,} machines of {question.cores} cores"
    yield f"{plan.pages:,.0f} pages in {_days(plan.days)} on {machines}: {speed.pages_per_s:,.0f} pages/s."
    yield f"What binds first: {speed.binds}, {MEANS[speed.binds]}."
    yield ""
    for name, limit in sorted(speed.limits.items(), key=lambda one: one[1]):
        shown = "not known" if math.isinf(limit) else f"{limit:,.0f} pages/s"
        yield f"  {name:22} {shown:>20}   {MEANS[name]}"
    yield ""
    workers = ", ".join(f"{count:,} {role}" for role, count in layout.workers.items())
    rows = (
        ("workers", workers),
        (
            "partitions, brokers",
            f"{layout.partitions:,} partitions, {layout.brokers:,} brokers, {layout.replication} copies",
        ),
        (
            "checkpoints",
            f"{layout.checkpoint_s:.1f} s apart; transactions take {speed.transactions_share:.1%} of the processors",
        ),
        ("memory a machine", f"{layout.memory_gb_a_machine:,.1f} GB of {question.memory_gb:g}"),
        ("line to the Internet", f"{plan.wire_mbit:,.0f} Mbit/s, {question.wire:g} KB a page"),
        ("network a machine", f"{plan.internal_gbit_a_machine:,.2f} Gbit/s of {question.network_gbit:g}"),
        ("disks", f"{plan.disks.total:,.0f} GB, {plan.disk_gb_a_machine:,.0f} a machine of {question.disk_gb:,.0f}"),
        ("  topics", f"{plan.disks.topics:,.0f} GB, kept for {question.retention_hours:g} hours"),
        ("  changelogs", f"{plan.disks.changelogs:,.0f} GB, {question.known:g} known URLs a page, before compaction"),
        ("  state", f"{plan.disks.state:,.0f} GB"),
        ("  archive", f"{plan.disks.archive:,.0f} GB, one copy" if question.archive else "none"),
        ("servers needed", f"{plan.servers_needed:,} that are asked every {question.delay:g} s"),
    )
    for what, value in rows:
        yield f"  {what:22} {value}"
    if question.price:
        yield f"  {'cost':22} {plan.cost:,.0f} at {question.price:g} a machine and hour"
    yield ""
    change = speed.pages_per_s and plan.double.pages_per_s / speed.pages_per_s
    yield (
        f"Twice as many machines: {plan.double.pages_per_s:,.0f} pages/s, {change:.2f} times as fast, {_days(plan.double_days)}; then "
        f"{plan.double.binds} binds."
    )
    yield from plan.notes
    yield f"By the profile of {profile.measured}."


def document_of(plan: Plan, profile: Profile) -> dict[str, Any]:
    """The same for programs; a limit that is not known is null."""
    document: dict[str, Any] = msgspec.to_builtins({"type": "plan", "model": "gregor", "plan": plan})
    document["curve"] = [[n, round(rate, 1)] for n, rate in curve(plan, profile)]
    document["profile"] = msgspec.to_builtins(profile)
    finite: dict[str, Any] = _finite(document)
    return finite


def curve(plan: Plan, profile: Profile) -> list[tuple[int, float]]:
    """Pages a second over machines, to four times as many as planned."""
    most = max(8, 4 * plan.machines)
    return [(n, speed_of(plan.question, profile, n).pages_per_s) for n in _spread(most)]


def paper_lines(pages: float, agents: int, mbit: float) -> Iterator[str]:
    """What paper 004 says of so many agents."""
    millions = pages / 1e6
    seconds, lost = paper.seconds(pages, agents), paper.overhead(agents, millions)
    rate = paper.speed(agents, millions)
    yield f"{pages:,.0f} pages by {agents:,} agents of paper 004: {rate:,.0f} pages/s, {_days(seconds / paper.DAY_S)}."
    yield f"  {'overhead of an agent':22} {lost.total:,.2f} of {paper.SINGLE_MACHINE:,.2f} pages/s:"
    parts = {"connections": lost.setup, "URLs of sites": lost.site_sending, "who has which site": lost.site_partition}
    for name, value in {**parts, "URLs of pages": lost.page_exchange}.items():
        yield f"    {name:20} {value:,.2f}"
    best = paper.best_agents(millions)
    yield f"  {'fastest':22} {best:,} agents, {paper.speed(best, millions):,.0f} pages/s, {paper.seconds(pages, best) / 3600:,.1f} hours"
    if mbit:
        most = paper.most_agents(mbit)
        yield f"  {'the line feeds':22} {most:,} agents of {paper.AGENT_MBIT:g} Mbit/s"


def paper_curve(pages: float, most: int = 300) -> list[tuple[int, float]]:
    """Figure 12."""
    return [(n, paper.speed(n, pages / 1e6)) for n in _spread(most)]


def _spread(most: int) -> list[int]:
    return sorted({max(1, round(most * at / POINTS)) for at in range(POINTS + 1)})


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list) else value


def _days(days: float) -> str:
    if math.isinf(days):
        return "for ever"
    return f"{days:,.1f} days" if days >= 2 else f"{days * 24:,.1f} hours"
