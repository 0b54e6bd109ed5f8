"""The extractor as a process on a real broker, killed again and again: what its topics hold in the end is what the pages held."""

import secrets
from collections import Counter
from pathlib import Path

import pytest

from gregor.config import Config, load
from gregor.run.placement import placement_of
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.discovered import decode_discovered
from schemas.pages import PageFacts
from schemas.verdicts import decode_verdict
from tests.chaos.processes import gregor, seeded, until
from workers.extractor.stage import SPEC

PARTITIONS = 4
SERVERS = tuple(f"s{number}.test" for number in range(8))
PAGES = 1200
LINKS = 20
KILLS = 3


def links_of(page: int) -> list[str]:
    """Navigation that all pages share, and some links of the page's own, to its own server and others."""
    own = [f"http://{SERVERS[(page + k) % len(SERVERS)]}/p{(page * 7 + k * 11) % PAGES}" for k in range(LINKS - 5)]
    return [f"http://{SERVERS[0]}/nav{k}" for k in range(5)] + own


def outputs(config: Config, pages: range) -> list[Output]:
    placement = placement_of(config)
    made = []
    for page in pages:
        server = SERVERS[page % len(SERVERS)]
        html = "".join(f"<a href={link}>x</a>" for link in [*links_of(page), "http://outside.test/"])
        facts = PageFacts(
            server=server,
            path=f"/p{page}",
            lease=f"l{page}",
            status=200,
            scheme="http",
            hops=1,
            response_headers=(("Content-Type", "text/html"),),
        )
        made.append(Output("pages", placement.partition(server), server.encode(), html.encode(), encode(facts)))
    return made


def caught_up(transport: KafkaTransport) -> bool:
    positions = transport.committed(SPEC.name, SPEC.inputs)
    ends = transport.ends("pages")
    return len(positions) == PARTITIONS and all(ends[at.partition][1] == one.offset for at, one in positions.items())


def found(transport: KafkaTransport) -> Counter[tuple[str, str]]:
    """(page, link) as often as it was emitted, read committed."""
    records = (
        decode_discovered(record.value)
        for partition in range(PARTITIONS)
        for record in transport.read("discovered", partition, 0)
    )
    return Counter(
        (one.referrer_lease, f"{one.scheme}://{one.server}{path}")
        for one in records
        if one.kind != "repetition"
        for path in one.paths
    )


def refused(transport: KafkaTransport) -> int:
    return sum(
        decode_verdict(record.value).count
        for partition in range(PARTITIONS)
        for record in transport.read("verdicts", partition, 0)
    )


@pytest.mark.parametrize("capacity", [0, 100_000], ids=["without the filter", "with the filter"])
def test_killed_in_the_middle_it_emits_the_links_of_each_page_once(
    tmp_path: Path, kafka: KafkaCluster, capacity: int
) -> None:
    moments = seeded("extractor")
    file = tmp_path / "gregor.toml"
    file.write_text(
        f'crawl.name = "links-{secrets.token_hex(4)}"\ncrawl.seeds = {[f"http://{one}/" for one in SERVERS]}\n'
        f'partitions.partitions = {PARTITIONS}\nkafka.bootstrap = "{kafka.bootstrap}"\nkafka.session_timeout_s = 6.0\n'
        f"filter.capacity = {capacity}\ncheckpoint.max_interval_s = 0.2\n"
    )
    config = load(file, {}).config
    with gregor(file, "topics", "--create") as topics:
        code, printed = topics.wait()
        assert code == 0, printed
    transport = kafka_transport(config, tmp_path / "look")
    transport.append(outputs(config, range(300)))
    with gregor(file, "worker", "extractor", "--folder", tmp_path / "worker") as worker:
        for kill in range(KILLS):
            before = len(found(transport))
            transport.append(outputs(config, range(300 * (kill + 1), 300 * (kill + 2))))
            until(lambda least=before: len(found(transport)) > least, "the extractor is at work", workers=[worker])  # type: ignore[misc]
            worker.wait_briefly(moments.uniform(0.0, 0.3))
            worker.restart()
        until(lambda: caught_up(transport), "every page is passed", workers=[worker])
    emitted = found(transport)
    expected = {(f"l{page}", link) for page in range(PAGES) for link in links_of(page)}
    assert max(emitted.values()) == 1, "nothing twice"
    if capacity:
        assert emitted.keys() <= expected
        assert {link for _, link in emitted} == {link for _, link in expected}, "nothing lost"
        times = Counter(link for _, link in emitted)
        assert max(times.values()) <= KILLS + 1, "only a restart makes the filter forget"
    else:
        assert emitted.keys() == expected
    assert refused(transport) == PAGES, "counts of what was refused are exact"
    transport.close()
