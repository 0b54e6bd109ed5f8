"""`gregor audit` of a crawl on a real broker: clean while it runs and after; then damage of every kind, each found."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gregor import cli
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.errors import EXIT_CHECK_FAILED
from gregor.run.topology import ROLES
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import Store
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.changelog import CHECKPOINT_KEY, encode_checkpoint
from schemas.codec import encode
from schemas.fetched import Fetched, decode_fetched
from schemas.schedule import FetchOrder, OrderUrl
from streams.frontier.storage.families import SERVERS
from tests.chaos.processes import until
from tests.run.test_kafka_crawl import crawl


class Audits:
    """Runs the command as its users do."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._args = ["--config", str(folder / "gregor.toml"), "audit", "--json"]
        self._args += ["--archive", str(folder / "archiver" / "archive")]
        self._state = folder / "frontier"
        self._capsys = capsys

    def __call__(self, state: Path | None = None) -> dict[str, Any]:
        """Invariants by name."""
        self._capsys.readouterr()
        code = cli.run([*self._args, "--state", str(state or self._state)])
        out, err = self._capsys.readouterr()
        assert out, err
        said = json.loads(out)
        assert (code, said["ok"]) in ((0, True), (EXIT_CHECK_FAILED, False))
        return {one["name"]: one for one in said["invariants"]}

    def broken(self) -> dict[str, list[str]]:
        return {name: one["offenders"] for name, one in self().items() if one["failed"]}


def test_a_crawl_on_a_cluster_is_proved_clean_and_every_damage_is_found(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    gregor_audit = Audits(tmp_path, capsys)
    with serve(DemoSite(hosts=2, pages_per_host=8), latency_s=0.05) as server, crawl(tmp_path, kafka, server) as job:
        until(lambda: len(server.log) > 3, "it has begun")
        assert gregor_audit.broken() == {}, "in the middle of a crawl"
        until(job.done, "the crawl is done")
        opened_and_lost(tmp_path / "lost")
        unused = gregor_audit(tmp_path / "lost")
        assert {name for name, one in unused.items() if one["failed"]} == set(), "a state that was never committed"
        assert "no state is on this machine" in unused["state-counts"]["note"]
        found = gregor_audit()
        assert {name for name, one in found.items() if one["failed"] or not one["checked"]} == set()
        for role, worker in job.workers.items():
            code, printed = worker.terminate()
            assert code == 0, f"{role}: {printed}"
        transport = job.transport

        archive = next((tmp_path / "archiver" / "archive").glob("*.warc.gz"))
        archive.write_bytes(archive.read_bytes()[:-5])
        partition = change_state(tmp_path / "frontier")
        asked = ask_too_early(transport)
        doubled = order_twice(transport)
        lost = lose_an_order(transport, (partition + 1) % 4)
        broken = gregor_audit.broken()
        assert archive.name in broken["archive-files"][0], "a torn file"
        assert f"partition {partition}, family {SERVERS}" in broken["state-changelog"][0], "a changed state"
        assert asked in broken["politeness"][0], "an early request"
        assert any(f"order {doubled} " in one for one in broken["orders-once"]), "a doubled order"
        assert f"order {lost} is lost: it is in no topic" in broken["orders-once"], "a lost order"


def opened_and_lost(folder: Path) -> None:
    """What a frontier leaves behind that had its partitions, and lost them before its first commit."""
    spec = ROLES["frontier"].spec
    assert spec.state is not None
    for partition in range(4):
        path = folder / "frontier" / f"partition-{partition:04d}"
        path.mkdir(parents=True)
        Store(path, spec.state.families, SharedMemory(StoreOptions())).close()


def change_state(folder: Path) -> int:
    spec = ROLES["frontier"].spec
    assert spec.state is not None
    for path in sorted((folder / "frontier").glob("partition-*")):
        store = Store(path, spec.state.families, SharedMemory(StoreOptions()))
        try:
            for key, _ in store.view().scan(SERVERS):
                batch = store.begin()
                store.writer(batch).delete(SERVERS, key)
                store.write(batch)
                return int(path.name[-4:])
        finally:
            store.close()
    raise AssertionError("no partition knows a server")


def ask_too_early(transport: KafkaTransport) -> str:
    """An order for a server that had just been asked."""
    record = next(one for partition in range(4) for one in transport.read("fetched", partition, 0))
    before = decode_fetched(record.value)
    lease = f"{record.partition}-1000000"
    urls = (OrderUrl(path="/early", scheme="http"),)
    order = FetchOrder(server=before.server, lease=lease, urls=urls, delay_ms=1000, deadline_ms=1)
    last = max(one.started_ms for one in before.results)
    early = replace(before.results[0], path="/early", started_ms=last + 1, status=0, outcome="timeout")
    key = before.server.encode()
    transport.append(
        [
            Output("schedule", record.partition, key, encode(order)),
            Output(
                "fetched", record.partition, key, encode(Fetched(server=before.server, lease=lease, results=(early,)))
            ),
        ]
    )
    return before.server


def order_twice(transport: KafkaTransport) -> str:
    record = next(one for partition in range(4) for one in transport.read("schedule", partition, 0))
    transport.append([Output("schedule", record.partition, record.key or b"", record.value or b"")])
    return str(json.loads(record.value or b"")["lease"])


def lose_an_order(transport: KafkaTransport, partition: int) -> str:
    """The frontier's books say that it made one more than there is; a later checkpoint than that of the state in its folder."""
    checkpoint = transport.last_checkpoint("frontier", partition)
    assert checkpoint is not None
    orders = checkpoint.counters.get("orders", 0) + 1
    forged = replace(checkpoint, sequence=checkpoint.sequence + 1, counters={**checkpoint.counters, "orders": orders})
    transport.append([Output("frontier-changelog", partition, CHECKPOINT_KEY, encode_checkpoint(forged))])
    return f"{partition}-{orders}"
