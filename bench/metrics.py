"""What it costs to be watched: the frontier on the embedded log with a recorder beside it and without, in alternation, and each call alone.

Run: python -m bench.metrics [--quick] [--json]

Processor time is compared, the least of the rounds of each. A commit takes no time for a broker here, so that there are more checkpoints
and polls a second than on Kafka, and the share is rather too large. The calls are then timed one by one: a turn of the loop, a batch of 500
records, a checkpoint of 8 partitions with 30 counters each, the results of an order, the look once a second, and what Prometheus asks for.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest

from bench.frontier_kafka import LINKS, records
from bench.report import finish, machine, options
from gregor.config import load
from gregor.run.placement import placement_of
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.observer import NOBODY, LoopSnapshot, Observer
from gregor.runtime.metrics.exposition import Exposition
from gregor.runtime.metrics.recorder import Recorder
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import CheckpointInfo, Commit, Output, Position, Record, TopicPartition
from schemas.codec import encode
from schemas.fetched import FetchResult, Timings
from streams.frontier.stage import SPEC, FrontierStage
from workers.fetcher.tally import RequestTally

PARTITIONS: Final = 8
CONFIG: Final = load(None, {}, {"partitions.partitions": PARTITIONS, "crawl.scope": "any"}).config


def admit(outputs: list[Output], observer: Observer) -> float:
    """Seconds of processor time from the first record to the last checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        settings = EmbeddedSettings(crawl="bench", partitions=PARTITIONS)
        transport = EmbeddedTransport.at(Path(folder) / "log", settings, SharedMemory(StoreOptions()), (SPEC,))
        loop = StageLoop(FrontierStage(CONFIG, placement_of(CONFIG)), transport.open(SPEC), CONFIG.checkpoint)
        loop.watch(observer)
        for start in range(0, len(outputs), 2_000):
            transport.append(outputs[start : start + 2_000])
        ends = {partition: end for partition, (_, end) in transport.ends("discovered").items()}
        began = time.process_time()
        while not loop.commits or any(
            at.offset < ends[where.partition] for where, at in transport.committed(SPEC.name, SPEC.inputs[:1]).items()
        ):
            loop.turn(0.05)
        spent = time.process_time() - began
        transport.close()
    return spent


def microseconds(call: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        call()
    return round((time.process_time() - began) / times * 1e6, 2)


def calls() -> dict[str, float]:
    """Each call of a recorder alone."""
    recorder = Recorder()
    batch = [Record("discovered", 0, number, b"k", b"v", None, 0) for number in range(500)]
    counters = {f"counter_{number}": number for number in range(30)}
    commit = Commit(
        epoch=1,
        outputs=[Output("schedule", 0, b"k", b"v")] * 100,
        positions={TopicPartition("discovered", one): Position(1) for one in range(PARTITIONS)},
        mark=CheckpointInfo(now_ms=0, counters=dict.fromkeys(range(PARTITIONS), counters)),
    )
    moment = LoopSnapshot(owned=range(PARTITIONS), restoring={}, held=False, figures={})
    tally = RequestTally()
    results = [FetchResult(path="/", outcome="ok", status=200, started_ms=1, timings=Timings(total=30))] * 16
    registry = CollectorRegistry()
    registry.register(Exposition({"crawl": "bench", "role": "frontier"}, [recorder.figures]))
    return {
        "us_turn": microseconds(recorder.turned, 100_000),
        "us_batch": microseconds(lambda: recorder.took(batch, ()), 2_000),
        "us_checkpoint": microseconds(lambda: recorder.committed(commit, 1000, 1000, 0.01), 2_000),
        "us_order_of_16": microseconds(lambda: tally.add(results), 2_000),
        "us_look": microseconds(lambda: recorder.saw(moment), 2_000),
        "us_scrape": microseconds(lambda: generate_latest(registry), 200),
    }


def main() -> None:
    chosen = options(__doc__)
    links, rounds = (300_000, 8) if chosen.quick else (1_000_000, 8)
    placement = placement_of(CONFIG)
    outputs = [
        Output("discovered", placement.partition(one.server), one.server.encode(), encode(one))
        for one in records(links, Random(1))
    ]
    print(machine("prometheus-client", "rocksdict", "numpy"))
    print(f"{links:,} links in {len(outputs):,} records of {LINKS}; {rounds} rounds of each")
    watched, alone = [], []
    for _ in range(rounds):
        alone.append(admit(outputs, NOBODY))
        watched.append(admit(outputs, Recorder()))
    figures = {
        "cpu_s_alone": round(min(alone), 3),
        "cpu_s_watched": round(min(watched), 3),
        "ratio_watched": round(min(watched) / min(alone), 4),
        **calls(),
    }
    finish(figures, chosen.json)


if __name__ == "__main__":
    main()
