"""The uniqueness engine on a real broker, stormed: every URL is admitted once, and a restored state equals the one that lived.

The short form is part of the suite; `make storm` runs the long one, with GREGOR_STORM_URLS=2000000 and GREGOR_STORM_KILLS=60.
"""

import os
import time
from collections import Counter
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import HashPlacement
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.discovered import Discovered
from tests.chaos.admitter import SPEC
from tests.chaos.processes import seeded
from tests.chaos.storm import PARTITIONS, Storm, kafka_of, storming

URLS = int(os.environ.get("GREGOR_STORM_URLS", "200000"))
KILLS = int(os.environ.get("GREGOR_STORM_KILLS", "10"))
SERVERS = 2_000
LINKS = 60


def links(random: Random) -> list[Discovered]:
    """Every URL of Zipf-sized servers, shuffled within its server, each second one found again elsewhere."""
    sizes = np.maximum(1, URLS / np.arange(1, SERVERS + 1) / np.log(SERVERS)).astype(int)
    sizes[0] += URLS - int(sizes.sum())
    found = []
    for number, size in enumerate(sizes.tolist()):
        paths = [f"/page/{one}" for one in range(size)]
        paths += random.sample(paths, size // 2)
        random.shuffle(paths)
        found += [
            Discovered(server=f"server-{number}.example", paths=tuple(paths[at : at + LINKS]))
            for at in range(0, len(paths), LINKS)
        ]
    random.shuffle(found)
    return found


@pytest.mark.timeout(3600)
def test_each_of_many_urls_is_admitted_once_through_kills_of_workers_and_broker(tmp_path: Path) -> None:
    random = seeded("uniqueness storm")
    placement = HashPlacement(4096, PARTITIONS)
    found = links(random)
    outputs = [Output("discovered", placement.partition(one.server), one.server.encode(), encode(one)) for one in found]
    with KafkaCluster() as cluster:
        crawl = Storm("tests.chaos.admitter", SPEC, tmp_path, kafka_of(cluster), cluster.bootstrap)
        with storming(crawl, workers=2):
            for kill in range(KILLS):
                crawl.append(outputs[kill * len(outputs) // KILLS : (kill + 1) * len(outputs) // KILLS])
                time.sleep(random.uniform(0.1, 1.5))
                if kill == KILLS // 2:
                    cluster.kill(0)
                    cluster.restart(0)
                crawl.workers[random.randrange(2)].restart()
            crawl.workers[1].stop()
            time.sleep(8.0)
            crawl.workers[1].go_on()
            crawl.wait_until_done()
            admitted = Counter(
                f"{(record.key or b'').decode()}{path}"
                for partition in range(PARTITIONS)
                for record in crawl.transport.read("schedule", partition, 0)
                for path in msgspec.json.decode(record.value or b"[]", type=list[str])
            )
            expected = {f"{one.server}{path}" for one in found for path in one.paths}
            assert len(expected) >= URLS
            assert expected - admitted.keys() == set(), "lost"
            assert [url for url, times in admitted.items() if times > 1] == [], "twice"
            assert admitted.keys() == expected
            crawl.check_states()
