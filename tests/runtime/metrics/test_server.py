"""What is answered at /metrics and /healthz, as Prometheus reads it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.runtime.metrics.exposition import Exposition
from gregor.runtime.metrics.metric_defs import BATCH, LAG, RECORDS, Metric
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures, Spread
from gregor.runtime.metrics.probe import answer
from gregor.runtime.metrics.server import Health, MetricsServer


@contextmanager
def serving(figures: Figures, health: Health | None = None, names: tuple[str, ...] = ()) -> Iterator[MetricsServer]:
    registry = CollectorRegistry()
    registry.register(Exposition({"crawl": "museum", "role": "frontier"}, [lambda: figures]))
    server = MetricsServer("127.0.0.1", 0, registry, lambda: health or Health(True, "at work", 0.1), names)
    try:
        yield server
    finally:
        server.close()


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def healthy(port: int) -> tuple[bool, str]:
    """Asked with the patience of a test."""
    return answer(port, patience_s=120.0)


OURS = (("crawl", "museum"), ("role", "frontier"))


def test_figures_carry_the_crawl_the_role_and_their_own_labels() -> None:
    spread = Spread(BATCH.bounds)
    for value in (1, 2, 200_000):
        spread.add(value)
    figures: Figures = {
        RECORDS: {("discovered",): 7},
        LAG: {("discovered", "3"): 12},
        BATCH: {NO_LABELS: spread},
    }
    with serving(figures) as server:
        status, text = get(server.port, "/metrics")
    assert status == 200
    found = samples(text)
    assert found["gregor_records_total", (*OURS, ("topic", "discovered"))] == 7
    assert found["gregor_lag_records", (OURS[0], ("partition", "3"), OURS[1], ("topic", "discovered"))] == 12
    assert found["gregor_batch_records_bucket", (OURS[0], ("le", "1.0"), OURS[1])] == 1
    assert found["gregor_batch_records_bucket", (OURS[0], ("le", "3.0"), OURS[1])] == 2
    assert found["gregor_batch_records_bucket", (OURS[0], ("le", "+Inf"), OURS[1])] == 3
    assert found["gregor_batch_records_count", OURS] == 3
    assert found["gregor_batch_records_sum", OURS] == 200_003


def test_what_nobody_has_a_figure_of_is_not_shown() -> None:
    nothing: dict[Metric, dict[tuple[str, ...], float]] = {LAG: {}}
    with serving(nothing) as server:
        assert samples(get(server.port, "/metrics")[1]) == {}


def test_openmetrics_is_answered_when_it_is_asked_for() -> None:
    with serving({RECORDS: {("discovered",): 7}}) as server:
        _, text = get(server.port, "/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")


def test_a_healthy_worker_says_so_and_a_silent_one_does_not() -> None:
    with serving({}) as server:
        assert get(server.port, "/healthz")[0] == 200
        assert healthy(server.port) == (True, '{"healthy":true,"state":"at work","silent_s":0.1}')
    with serving({}, Health(False, "silent", 95.0)) as server:
        assert get(server.port, "/healthz")[0] == 503
        assert healthy(server.port)[0] is False
        port = server.port
    assert healthy(port)[0] is False, "nobody is there"


def test_other_paths_and_a_client_that_says_nothing_do_no_harm() -> None:
    with serving({}) as server, socket.create_connection(("127.0.0.1", server.port)):
        assert get(server.port, "/admin")[0] == 404
        assert get(server.port, "/healthz?x=1")[0] == 200


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with serving({}) as server, pytest.raises(GregorError, match=r"set metrics\.port to a free port") as raised:
        MetricsServer("127.0.0.1", server.port, CollectorRegistry(), lambda: Health(True, "", 0.0))
    assert raised.value.exit_code == EXIT_ENVIRONMENT


def asked_by(server: MetricsServer, *hosts: str, path: str = "/metrics") -> int:
    """The status of a request with these Host headers."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.putrequest("GET", path, skip_host=True)
    for host in hosts:
        connection.putheader("Host", host)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_strangers_page_whose_name_leads_here_reads_nothing() -> None:
    """A browser sends the name by which the page asks, whatever address that name has been given meanwhile."""
    with serving({RECORDS: {("discovered",): 7}}, names=("frontier",)) as server:
        for path in ("/metrics", "/healthz", "/"):
            assert asked_by(server, f"stranger.example:{server.port}", path=path) == 403
        assert asked_by(server, "localhost", "stranger.example") == 403
        body = get(server.port, "/metrics", Host="stranger.example")[1]
        assert body == "expected a request by an address or a name in metrics.names\n"
        for host in ("127.0.0.1", f"localhost:{server.port}", "[::1]:9464", "frontier:9464"):
            assert asked_by(server, host) == 200


def test_a_balancer_that_names_no_host_is_answered() -> None:
    """No browser is one: all of them send it."""
    with serving({}) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert client.makefile("rb").readline().split()[1] == b"200"
