"""Real brokers for every test that asks for one, and signals as every test and its children expect them."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from infra.kafka.broker import SMALL_JVM
from infra.kafka.cluster import KafkaCluster

# How long an example takes says nothing on a machine that others use too.
settings.register_profile("gregor", deadline=None)
settings.load_profile("gregor")


def pytest_configure() -> None:
    """A shell starts what it puts into the background with SIGINT ignored, and so would be all that tests start: who interrupts a child
    would wait for ever. A signal that is handled here is that of its default in every child."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """One broker for the whole run, started by the first test that asks. It is shared: never kill it, name topics uniquely. The topics of
    hundreds of crawls stay in it, which 128 MB of heap do not hold on every day."""
    with KafkaCluster(jvm=("-Xmx384m", *(flag for flag in SMALL_JVM if not flag.startswith("-Xmx")))) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kafka3() -> Iterator[KafkaCluster]:
    """Three brokers of the module's own, to kill and restart."""
    with KafkaCluster(brokers=3) as cluster:
        yield cluster
