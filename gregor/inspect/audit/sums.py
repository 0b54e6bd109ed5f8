"""Counters: those of the frontier's checkpoints add up, and agree with what the topics hold."""

from collections.abc import Mapping

from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.finding import Check, Finding
from gregor.inspect.audit.gather import TopicTotals
from gregor.inspect.audit.orders import Orders


def check_sums(cut: Cut, totals: TopicTotals, orders: Orders) -> Finding:
    check = Check("counters", "counters add up from discovered to archived")
    for partition, checkpoint in cut.checkpoints.items():
        _equations(check, partition, checkpoint.counters)
        if cut.whole("discovered"):
            found = checkpoint.counters.get("discovered", 0)
            check.equal(found, totals.paths[partition], f"partition {partition}, discovered")
        else:
            check.unknown += 1
            check.note = "discovered was trimmed"
        urls = orders.urls_ordered(partition)
        if urls is not None:
            check.equal(checkpoint.counters.get("ordered", 0), urls, f"partition {partition}, ordered")
    if len(cut.checkpoints) < cut.partitions and any(totals.answers):
        check.fail(f"{cut.partitions - len(cut.checkpoints)} partitions have no checkpoint")
    return check.finding()


def _equations(check: Check, partition: int, counters: Mapping[str, int]) -> None:
    def total(prefix: str) -> int:
        return sum(count for name, count in counters.items() if name.startswith(prefix))

    def of(*names: str) -> int:
        return sum(counters.get(name, 0) for name in names)

    where = f"partition {partition}"
    check.equal(
        of("discovered"),
        of("admitted", "duplicates", "forwarded", "waiting") + total("refused_"),
        f"{where}: discovered is not admitted + duplicates + refused + forwarded + waiting",
    )
    check.equal(
        of("admitted", "recrawled"),
        of("queued", "leased", "retrying", "confirmed", "failed", "dropped"),
        f"{where}: admitted + recrawled is not queued + leased + retrying + confirmed + failed + dropped",
    )
    for name in ("failed", "dropped"):
        check.equal(of(name), total(f"{name}_"), f"{where}: {name} is not the sum of its reasons")
