"""Crawls whose sites are placed by a coordinator: what they find, on both engines, and what the coordinator is told for it."""

from collections.abc import Set
from pathlib import Path
from typing import Any

import pytest

from bench.siting.coverage import crawled
from bench.siting.hosted_web import HostedWeb
from gregor.demo.server import serve
from gregor.offline.generated import WebShape
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import gregor, until
from tests.run.configured import write_config
from tests.run.figure_two import FigureTwo
from tests.run.test_kafka_crawl import crawl

FOUND = {"full": set("abcdefghij"), "two-level": set("abcdfghj")}


@pytest.mark.parametrize("coverage", FOUND)
def test_two_levels_miss_e_and_i_of_the_papers_figure_2_and_full_coverage_finds_them(
    tmp_path: Path, coverage: str
) -> None:
    with serve(FigureTwo()) as server:
        config = write_config(tmp_path / "gregor.toml", server, placement="sites", sites=f'coverage = "{coverage}"')
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert server.requested() == dict.fromkeys(map(server.site.page, FOUND[coverage]), 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize("coverage", FOUND)
def test_the_same_as_processes_on_a_broker(tmp_path: Path, kafka: KafkaCluster, coverage: str) -> None:
    with (
        serve(FigureTwo()) as server,
        crawl(tmp_path, kafka, server, placement="sites", sites=f'coverage = "{coverage}"') as running,
    ):
        assert "coordinator" in running.workers
        until(running.done, "the crawl is done")
        assert server.requested() == dict.fromkeys(map(server.site.page, FOUND[coverage]), 1)  # type: ignore[attr-defined]
        for role, worker in running.workers.items():
            code, printed = worker.terminate()
            assert code == 0, f"{role}: {printed}"


def test_a_thousand_sites_are_covered_whole_as_by_hash_and_not_by_two_levels(tmp_path: Path) -> None:
    shape = WebShape(pages=2_500, sites=1_000, seed=5)
    with serve(HostedWeb(shape)) as server:
        web = server.site
        assert isinstance(web, HostedWeb)

        def fetched(name: str, **settings: Any) -> Set[str]:
            outcome = crawled(server, tmp_path / name, **settings)
            assert set(outcome.requested.values()) == {1}, "nothing twice"
            return outcome.requested.keys()

        by_hash = fetched("hash", placement="hash")
        assert by_hash == web.urls()
        assert fetched("full", placement="sites", root_page=False) == by_hash
        two_level = fetched("two-level", placement="sites", coverage="two-level")
        assert two_level == web.urls_of_two_levels() < by_hash
