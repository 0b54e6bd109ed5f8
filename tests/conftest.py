"""Real brokers for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from infra.kafka.cluster import KafkaCluster

# How long an example takes says nothing on a machine that others use too.
settings.register_profile("gregor", deadline=None)
settings.load_profile("gregor")


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """One broker for the whole run, started by the first test that asks. It is shared: never kill it, name topics uniquely."""
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kafka3() -> Iterator[KafkaCluster]:
    """Three brokers of the module's own, to kill and restart."""
    with KafkaCluster(brokers=3) as cluster:
        yield cluster
