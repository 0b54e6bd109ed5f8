"""Operating a crawl on a real broker, by the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gregor.runtime.transport.port import Transport
from infra.kafka.cluster import KafkaCluster
from tests.operate.contract import OperateContract
from tests.operate.desk import on_kafka


class TestKafka(OperateContract):
    @pytest.fixture
    def transport(self, tmp_path: Path, kafka: KafkaCluster) -> Iterator[Transport]:
        _, transport = on_kafka(kafka, tmp_path)
        yield transport
        transport.close()
