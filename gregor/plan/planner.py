"""A plan: how fast so many machines crawl, what binds first, and what they need for it.

    speed  =  the least of     bandwidth     the line, by bytes of a page on the wire
                               processor     cores x load, less what transactions cost, by the processor time of a page
                               politeness    servers / delay
                               broker        the machines' own network, by bytes that brokers take and copy
                               disk          what disks write, by the same bytes, the state and the archive

Transactions are why more machines do not help for ever: every extractor commits to all partitions of ``discovered``, a broker pays about a
millisecond for each, and both grow with the machines. Longer checkpoints help, and are chosen up to ``LONGEST_CHECKPOINT_S``.
"""

import math
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gregor.errors import UsageError
from gregor.plan.profile import Profile
from gregor.plan.question import MOST_MACHINES, Question, require_sense

Bound = Literal["bandwidth", "processor", "politeness", "broker", "disk"]

DAY_S: Final = 86_400
COPIES: Final = 3
COPY_COST: Final = 0.5
"""What a further copy of a record costs a broker, beside its first."""
CHECKPOINT_S: Final = 1.0
LONGEST_CHECKPOINT_S: Final = 5.0
"""Half of kafka.transaction_timeout_s as it is."""
SHARE: Final = 0.05
"""Of the processors for transactions, that checkpoints are made longer for."""
LEAST_PARTITIONS: Final = 8
MOST_PARTITIONS: Final = 4096


class Layout(Struct, frozen=True, kw_only=True):
    """Who runs on the machines."""

    workers: Mapping[str, int]
    partitions: int
    brokers: int
    replication: int
    checkpoint_s: float
    memory_gb_a_machine: float


class Speed(Struct, frozen=True, kw_only=True):
    """What so many machines do."""

    machines: int
    pages_per_s: float
    binds: Bound
    limits: Mapping[Bound, float]
    """Pages a second that each of them allows by itself; infinite: it is not known or not there."""
    transactions_share: float
    """Of the processors, that goes to transactions."""
    layout: Layout


class Disks(Struct, frozen=True, kw_only=True):
    """GB of all machines together, copies included."""

    topics: float
    changelogs: float
    state: float
    archive: float

    @property
    def total(self) -> float:
        return self.topics + self.changelogs + self.state + self.archive


class Plan(Struct, frozen=True, kw_only=True):
    """The answer."""

    pages: float
    days: float
    machines: int
    speed: Speed
    disks: Disks
    disk_gb_a_machine: float
    wire_mbit: float
    """On the line to the Internet."""
    internal_gbit_a_machine: float
    cost: float
    double: Speed
    """With twice as many machines."""
    double_days: float
    servers_needed: int
    """So that politeness does not bind."""
    notes: tuple[str, ...]
    """What does not fit or was not asked for; empty: all fits."""
    question: Question


def make_plan(question: Question, profile: Profile) -> Plan:
    """Raises UsageError for nonsense."""
    require_sense(question)
    if question.machines is not None:
        machines = question.machines
    elif question.pages is not None and question.days is not None:
        machines = _machines_for(question, profile, question.pages / (question.days * DAY_S))
    else:
        machines = 1
    speed = speed_of(question, profile, machines)
    pages, days = question.pages, question.days
    if pages is None:
        days = days or 1.0
        pages = speed.pages_per_s * days * DAY_S
    rate = speed.pages_per_s
    needed = pages / rate / DAY_S if rate else math.inf
    return _described(question, profile, speed, pages, needed)


def _machines_for(question: Question, profile: Profile, rate: float) -> int:
    """The fewest that reach the rate; if none do, the fewest that come as near to it as any."""
    machines, best, least = 1, 0.0, 1
    while machines <= MOST_MACHINES:
        found = speed_of(question, profile, machines).pages_per_s
        if found >= rate:
            return _fewest(question, profile, machines // 2 + 1 if machines > 1 else 1, machines, rate)
        if found <= best:
            break
        best, least = found, machines
        machines *= 2
    low, high = max(1, least // 2), min(MOST_MACHINES, machines)
    step = max(1, (high - low) // 256)
    return max(range(low, high + 1, step), key=lambda one: (speed_of(question, profile, one).pages_per_s, -one))


def _fewest(question: Question, profile: Profile, low: int, high: int, rate: float) -> int:
    while low < high:
        middle = (low + high) // 2
        if speed_of(question, profile, middle).pages_per_s >= rate:
            high = middle
        else:
            low = middle + 1
    return high


def speed_of(question: Question, profile: Profile, machines: int) -> Speed:
    layout = layout_of(question, profile, machines)
    cores_ms = machines * question.cores * question.load * 1000
    spent_ms = _transactions_ms(layout, profile)
    page_ms = _page_ms(question, profile, layout.replication)
    kb = question.page_kb
    internal = profile.topic_bytes.at(kb) * (layout.replication + 2)
    written = (
        profile.topic_bytes.at(kb) * layout.replication
        + question.known * (profile.changelog_bytes * layout.replication + profile.state_bytes)
        + (profile.archive_bytes.at(kb) if question.archive else 0.0)
    )
    limits: dict[Bound, float] = {
        "processor": min(max(0.0, cores_ms - spent_ms) / page_ms, _by_workers(question, profile, layout)),
        "bandwidth": question.bandwidth * 1e6 / 8 / (question.wire * 1000) if question.bandwidth else math.inf,
        "politeness": question.servers / question.delay if question.servers and question.delay else math.inf,
        "broker": machines * question.network_gbit * 1e9 / 8 / internal,
        "disk": machines * question.disk_mb_s * 1e6 / written,
    }
    binds = min(limits, key=lambda name: limits[name])
    return Speed(
        machines=machines,
        pages_per_s=limits[binds],
        binds=binds,
        limits=limits,
        transactions_share=min(1.0, spent_ms / cores_ms),
        layout=layout,
    )


def layout_of(question: Question, profile: Profile, machines: int) -> Layout:
    """Workers by their share of the processors, at least one of each; a worker is a process that uses one core."""
    replication = question.replication or min(COPIES, machines)
    page_ms = _page_ms(question, profile, replication)
    cores = machines * question.cores * question.load
    costs = {role: _cost_ms(question, profile, role) for role in _roles(question, profile)}
    workers = {role: max(1, math.ceil(cores * cost / page_ms)) for role, cost in costs.items()}
    largest = max(workers, key=lambda role: workers[role])
    if question.workers:
        workers[largest] = question.workers
    partitions = question.partitions or min(MOST_PARTITIONS, max(LEAST_PARTITIONS, _power_of_two(2 * workers[largest])))
    if question.workers > partitions:
        raise UsageError(
            f"expected at most as many workers of a role as partitions ({partitions:,}), found {question.workers:,}: the others would have "
            f"nothing to do",
            remedy="ask for more --partitions or fewer --workers",
        )
    workers = {role: min(count, partitions) for role, count in workers.items()}
    broker_ms = _broker_ms(_cost_ms(question, profile, "broker"), replication)
    brokers = min(machines, max(replication, math.ceil(cores * broker_ms / page_ms / question.cores)))
    memory = (
        sum(count * profile.memory_mb[role] for role, count in workers.items()) + brokers * profile.memory_mb["broker"]
    )
    layout = Layout(
        workers=workers,
        partitions=partitions,
        brokers=brokers,
        replication=replication,
        checkpoint_s=CHECKPOINT_S,
        memory_gb_a_machine=memory / 1000 / machines,
    )
    share = _transactions_ms(layout, profile) / (cores * 1000)
    return replace(layout, checkpoint_s=min(LONGEST_CHECKPOINT_S, max(CHECKPOINT_S, share / SHARE)))


def _by_workers(question: Question, profile: Profile, layout: Layout) -> float:
    """What the workers of the narrowest role do, each of them on a core of its own."""
    costs = {role: _cost_ms(question, profile, role) for role in layout.workers}
    return min((layout.workers[role] * 1000 / cost for role, cost in costs.items() if cost), default=math.inf)


def _transactions_ms(layout: Layout, profile: Profile) -> float:
    """Of brokers, for a second of commits: every stage touches its own partitions of what it writes, an extractor all of ``discovered``."""
    workers, partitions = layout.workers, layout.partitions
    own = {"frontier": 2, "fetcher": 2, "archiver": 1}
    touched = sum(partitions * many for role, many in own.items() if role in workers)
    touched += workers.get("extractor", 0) * partitions
    return touched * profile.transaction_ms / layout.checkpoint_s


def _page_ms(question: Question, profile: Profile, replication: int) -> float:
    own = sum(_cost_ms(question, profile, role) for role in _roles(question, profile))
    return own + _broker_ms(_cost_ms(question, profile, "broker"), replication)


def _cost_ms(question: Question, profile: Profile, role: str) -> float:
    return profile.cpu_ms[role].at(question.page_kb) * (question.extract_factor if role == "extractor" else 1.0)


def _broker_ms(one_copy: float, replication: int) -> float:
    return one_copy * (1 + COPY_COST * (replication - 1))


def _roles(question: Question, profile: Profile) -> list[str]:
    return [role for role in profile.roles if question.archive or role != "archiver"]


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()


def _described(question: Question, profile: Profile, speed: Speed, pages: float, days: float) -> Plan:
    machines, layout, kb = speed.machines, speed.layout, question.page_kb
    known = pages * question.known
    topics = speed.pages_per_s * min(question.retention_hours, days * 24) * 3600 * profile.topic_bytes.at(kb)
    disks = Disks(
        topics=topics * layout.replication / 1e9,
        changelogs=known * profile.changelog_bytes * layout.replication / 1e9,
        state=known * profile.state_bytes / 1e9,
        archive=pages * profile.archive_bytes.at(kb) / 1e9 if question.archive else 0.0,
    )
    double = speed_of(question, profile, 2 * machines)
    plan = Plan(
        pages=pages,
        days=days,
        machines=machines,
        speed=speed,
        disks=disks,
        disk_gb_a_machine=disks.total / machines,
        wire_mbit=speed.pages_per_s * question.wire * 8 / 1000,
        internal_gbit_a_machine=speed.pages_per_s
        * profile.topic_bytes.at(kb)
        * (layout.replication + 2)
        * 8
        / 1e9
        / machines,
        cost=machines * days * 24 * question.price,
        double=double,
        double_days=pages / double.pages_per_s / DAY_S if double.pages_per_s else math.inf,
        servers_needed=math.ceil(speed.pages_per_s * question.delay),
        notes=(),
        question=question,
    )
    return replace(plan, notes=tuple(_notes(plan)))


def _notes(plan: Plan) -> list[str]:
    question, layout = plan.question, plan.speed.layout
    found = []
    if question.pages is not None and question.days is not None and plan.days > question.days * 1.001:
        found.append(
            f"Not within {question.days:g} days, whatever is added: {plan.speed.binds} binds at {plan.days:,.1f} days."
        )
    if plan.disk_gb_a_machine > question.disk_gb:
        found.append(
            f"Disks are too small: {plan.disk_gb_a_machine:,.0f} GB a machine are needed, {question.disk_gb:,.0f} are there; keep the "
            f"archive elsewhere, keep topics for less than {question.retention_hours:g} hours, or take more machines."
        )
    if layout.memory_gb_a_machine > question.memory_gb:
        found.append(
            f"Memory is too small: {layout.memory_gb_a_machine:,.1f} GB a machine are needed, {question.memory_gb:g} are there."
        )
    if question.servers and question.delay:
        # By a power law the largest server has this share of all pages.
        largest = plan.pages / (math.log(question.servers) + 0.5772) if question.servers > 1 else plan.pages
        tail = largest * question.delay / DAY_S
        if tail > plan.days:
            found.append(
                f"If sizes of servers follow 1/rank, the largest has {largest:,.0f} pages and takes {tail:,.1f} days by itself at one in "
                f"{question.delay:g} s: set crawl.server_budget."
            )
    if plan.speed.transactions_share > SHARE * 1.01:
        found.append(
            f"Transactions take {plan.speed.transactions_share:.0%} of the processors, also with checkpoints {layout.checkpoint_s:g} s "
            f"apart: more machines add workers and partitions, and every commit touches both. Several crawls of fewer machines, each "
            f"with a part of the servers, are faster."
        )
    return found
