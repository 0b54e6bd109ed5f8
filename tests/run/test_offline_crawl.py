"""Crawls without a network: an archive crawled again gives what its own crawl gave, and a generated web is covered whole, whatever dies."""

from __future__ import annotations

import json
import secrets
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gregor import cli
from gregor.config import load
from gregor.demo.museum import SETTINGS, Museum
from gregor.demo.server import serve
from gregor.errors import EXIT_USAGE
from gregor.offline.generated import GeneratedWeb, shape_of
from gregor.outputs.archive.reader import open_archive
from gregor.run.progress import Progress, is_done, look
from gregor.run.topology import ROLES
from gregor.run.worker import kafka_transport
from infra.kafka.cluster import KafkaCluster
from schemas.fetched import decode_fetched
from tests.chaos.processes import Running, gregor, until

AGENT = ("frontier", "fetcher", "extractor")
ITEM = """
[extract]
requisites = true
page_facts = ["title", "links"]
[[item]]
name = "heading"
match = "."
[item.fields]
title = {css = "h1", required = true}
"""


def items(folder: Path) -> set[str]:
    """What was taken out of pages, without when."""
    rows = (json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines())
    return {json.dumps([row["url"], row["rule"], row["fields"]], sort_keys=True) for row in rows}


def answers(folder: Path) -> dict[str, tuple[int, str, bytes]]:
    """Of each URL the last answer: a server that had said "later" is asked again, an archive is not."""
    found: dict[str, tuple[int, int, str, bytes]] = {}
    for page in open_archive(folder):
        one = (page.fetched_ms, page.status, page.header("location"), page.body)
        if page.url not in found or found[page.url][0] <= one[0]:
            found[page.url] = one
    return {url: one[1:] for url, one in found.items()}


def refusals(summary: dict[str, Any]) -> set[tuple[str, int]]:
    return {(one["reason"], one["count"]) for one in summary["refusals"]}


def crawled(config: Path, *arguments: str | Path) -> dict[str, Any]:
    with gregor(config, "crawl", "--json", *arguments) as command:
        code, printed = command.wait()
    assert code == 0, printed
    summary: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return summary


def test_the_museums_archive_crawled_again_has_the_same_urls_answers_links_and_items(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "gregor.toml"
    settings = f"{ITEM}[traps]\nquery_variants = {SETTINGS['traps.query_variants']}\n[retry]\nfirst_s = 0.5\n"
    live, again = tmp_path / "live", tmp_path / "again"
    with serve(Museum()) as server:
        seeds = server.site.seeds
        config.write_text(
            f'{settings}[fetch]\ndelay_s = 0.0\ndelay_factor = 0.0\nallow_addresses = ["127.0.0.0/8"]\n',
        )
        first = crawled(config, "-o", live, *seeds)
    config.write_text(settings)
    second = crawled(config, "-o", again, "--web", live, *seeds)
    assert answers(again / "archive") == answers(live / "archive")
    assert items(again) == items(live)
    assert len(items(again)) > 1000
    assert refusals(second) == refusals(first)
    assert second["links"]["new"] == first["links"]["new"]
    assert cli.run(["audit", str(again)]) == 0
    capsys.readouterr()
    assert cli.run(["explain", seeds[0], str(again)]) == 0
    assert "200" in capsys.readouterr().out


def generated(folder: Path, web: str, **more: str) -> Path:
    """A configuration that crawls a generated web whole."""
    path = folder / "gregor.toml"
    sections = {
        "crawl": 'scope = "any"\nseeds = ["http://s0.example/"]',
        "fetch": 'backend = "archive"\ndelay_s = 0.0\ndelay_factor = 0.0\nurls_per_order = 4',
        "emulate": f'web = "generated:{web}"\nlatency_ms = 30\njitter = 0.5',
    }
    for name, lines in more.items():
        sections[name] = f"{sections.get(name, '')}\n{lines}"
    path.write_text("".join(f"[{name}]\n{lines}\n" for name, lines in sections.items()))
    return path


def oracle(web: str) -> set[str]:
    made = GeneratedWeb(shape_of(web))
    return set(made.urls(made.graph.everything))


def test_twice_the_same_seed_is_the_same_crawl_and_all_of_the_web_also_after_a_kill(tmp_path: Path) -> None:
    web = "600,30,5"
    config = generated(tmp_path, web)
    crawled(config, "-o", tmp_path / "one")
    with gregor(config, "crawl", "-o", tmp_path / "two") as command:
        until(lambda: (tmp_path / "two" / "archive").exists(), "it archives", every=0.01, workers=[command])
        command.kill()
    crawled(config, "-o", tmp_path / "two")
    for name in ("one", "two"):
        found = [page for page in open_archive(tmp_path / name) if page.facts.kind == "pages"]
        assert {page.url for page in found} == oracle(web)
        assert {page.status for page in found} == {200}
    one, two = ({page.url: page.body for page in open_archive(tmp_path / name)} for name in ("one", "two"))
    assert one == two
    assert cli.run(["audit", str(tmp_path / "two")]) == 0


@pytest.mark.timeout(600)
def test_three_agents_on_kafka_cover_the_generated_web_also_when_one_of_them_is_killed(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    web = "1000,40,6"
    config = generated(
        tmp_path,
        web,
        crawl=f'name = "offline-{secrets.token_hex(4)}"',
        partitions="partitions = 8",
        kafka=f'bootstrap = "{kafka.bootstrap}"\nsession_timeout_s = 6.0',
    )
    for arguments in (["topics", "--create"], ["seed"]):
        with gregor(config, *arguments) as command:
            assert command.wait()[0] == 0, command.printed
    crawl = load(config, {}).config
    transport = kafka_transport(crawl, tmp_path / "look")
    specs = [ROLES[name].spec for name in AGENT]
    before: list[Progress] = []

    def done(workers: list[Running]) -> bool:
        assert all(worker.ended is None for worker in workers), [worker.printed for worker in workers]
        before.append(look(transport, specs, 8))
        return len(before) > 1 and before[-1].counters.get("confirmed", 0) > 0 and is_done(before[-2], before[-1])

    with ExitStack() as stack:
        agents = [
            [
                stack.enter_context(gregor(config, "worker", role, "--folder", tmp_path / f"{role}-{number}"))
                for role in AGENT
            ]
            for number in range(3)
        ]
        workers = [worker for agent in agents for worker in agent]
        until(lambda: bool(fetched(transport, 8)), "pages are fetched", workers=workers)
        for worker in agents[1]:
            worker.restart()
        until(lambda: done(workers), "the crawl is done", every=0.5)
    assert fetched(transport, 8) == oracle(web)


def fetched(transport: Any, partitions: int) -> set[str]:
    """URLs that were answered with 200, read committed."""
    records = (record for partition in range(partitions) for record in transport.read("fetched", partition, 0))
    return {
        f"{result.scheme}://{one.server}{result.path}"
        for one in map(decode_fetched, (record.value for record in records))
        for result in one.results
        if result.status == 200
    }


def test_a_web_that_cannot_be_meant_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for web in ("", "generated:", "generated:1,2,3", str(tmp_path / "none")):
        assert cli.run(["crawl", "--web", web, "-o", str(tmp_path / "out"), "http://a.example/"]) == EXIT_USAGE
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "expected" in said
    assert cli.run(["crawl", "--demo", "--web", "generated:1,1,1"]) == EXIT_USAGE
