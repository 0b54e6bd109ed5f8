"""A cluster that crawls while a test does things to it, and what must be true of the crawl afterwards, whatever was done."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.checker import Checker

from gregor.config import Config, load
from gregor.demo.answer import HostedSite
from gregor.demo.judge import judge
from gregor.demo.museum import SETTINGS, Museum
from gregor.demo.server import DemoServer, serve
from gregor.inspect.audit.finding import Finding
from gregor.inspect.audit.run import Places, audit
from gregor.run.local.cluster import LOGS, WORKERS, ClusterPlan, LocalCluster
from gregor.run.progress import Progress, is_done
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.port import LogReader
from tests.chaos.redelivery import extra_requests

LOOK_EVERY_S: Final = 0.5
SESSION_S: Final = 6.0
PARTITIONS: Final = 4
OF_STATES: Final = frozenset({"state-counts", "state-changelog"})


class Siege:
    """A local cluster, the site that it crawls, and the end of both."""

    def __init__(self, job: LocalCluster, server: DemoServer) -> None:
        self.job = job
        self.server = server
        self._before: Progress | None = None

    @property
    def requests(self) -> int:
        return len(self.server.log)

    def until_done(self, strike: Callable[[], bool]) -> None:
        """Until the crawl is done and ``strike``, called again and again, says that it will do no more."""
        while not self._done(over=strike()):
            time.sleep(LOOK_EVERY_S)

    def until_requests(self, least: int) -> None:
        """The crawl goes on to there; whoever died is started again."""
        while self.requests < least:
            time.sleep(LOOK_EVERY_S / 2)
            self.job.tend()

    def _done(self, over: bool) -> bool:
        self.job.tend()
        if not over:
            # Looking costs the brokers and this machine more than all the rest of the loop.
            return False
        before, self._before = self._before, self.job.look()
        return before is not None and self._before is not None and is_done(before, self._before)

    def check(self) -> list[Finding]:
        """The site saw what it should, audit is clean, the archive is whole, and every request that was repeated has its reason."""
        job, config = self.job, self.job.config
        check_coverage(self.server)
        job.finish()
        archive = Path(config.archive.folder)
        findings = audit(job.transport, config, PARTITIONS, Places(archive=archive), tolerance_ms=20)
        assert not broken(findings), broken(findings)
        assert {one.name for one in findings if not one.checked or one.unknown} <= OF_STATES
        self._check_states()
        check_archive(archive, job.transport)
        extra = extra_requests(job.transport, self.server.requested(), job.folder / LOGS)
        print(f"{self.requests} requests, {extra} of them repeated by orders that came again")
        return findings

    def _check_states(self) -> None:
        """Each partition's state, wherever it is now, is what its changelog gives."""
        config, checked = self.job.config, Counter[str]()
        for folder in sorted((self.job.folder / WORKERS).glob("frontier-*")):
            transport = kafka_transport(config, folder)
            findings = audit(transport, config, PARTITIONS, Places(), tolerance_ms=20)
            transport.close()
            assert not broken(findings), f"{folder.name}: {broken(findings)}"
            checked.update({one.name: one.checked for one in findings})
        assert all(checked[name] for name in OF_STATES), "some frontier has a state"


@contextmanager
def besieged(folder: Path, site: HostedSite, plan: ClusterPlan, latency_s: float, **settings: Any) -> Iterator[Siege]:
    """The cluster is gone when the block ends."""
    with serve(site, latency_s=latency_s) as server, LocalCluster(config_for(server, settings), folder, plan) as job:
        yield Siege(job, server)


def config_for(server: DemoServer, settings: Mapping[str, Any]) -> Config:
    chosen: dict[str, Any] = {
        **SETTINGS,
        "crawl.name": "storm",
        "crawl.seeds": tuple(server.seeds),
        "fetch.delay_s": 0.01,
        "kafka.session_timeout_s": SESSION_S,
        "partitions.partitions": PARTITIONS,
        **settings,
    }
    return load(None, {}, chosen).config


def check_coverage(server: DemoServer) -> None:
    if isinstance(server.site, Museum):
        found = judge(server.site, server.requested())
        missed, strange = found.missed, found.strange
        assert found.endless <= found.endless_allowed
    else:
        asked, expected = set(server.requested()), server.site.urls()
        missed, strange = tuple(expected - asked), tuple(asked - expected)
    assert not missed, f"the site was never asked for {len(missed)} of its URLs: {missed[:5]}"
    assert not strange, f"the site was asked for {len(strange)} URLs that are closed or are none: {strange[:5]}"


def broken(findings: list[Finding]) -> dict[str, list[str]]:
    return {one.name: one.offenders for one in findings if not one.holds}


def check_archive(folder: Path, log: LogReader) -> None:
    """Two other readers find every file valid, and each page of the topic in one record."""
    pages = sum(1 for partition in log.ends("pages") for _ in log.read("pages", partition, 0))
    identities: list[str | None] = []
    for path in folder.glob("*.warc.gz"):
        assert is_valid(path), path
        with path.open("rb") as file:
            wanted = WarcRecordType.response | WarcRecordType.revisit
            identities += [record.record_id for record in ArchiveIterator(file, record_types=wanted)]
    assert len(set(identities)) == len(identities), "no page is archived twice"
    assert len(identities) == pages, "each page is archived"


def is_valid(path: Path) -> bool:
    class Quiet:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Quiet())
    checker.process_all()
    return not checker.exit_value
