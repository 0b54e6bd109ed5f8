"""`gregor reextract --topic` on a real broker: killed in the middle it goes on, and every item is there once."""

import secrets
from collections import Counter
from pathlib import Path

import pytest

from gregor import cli
from gregor.config import load
from gregor.errors import EXIT_USAGE, GregorError
from gregor.run.placement import placement_of
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.items import Item, decode_item
from schemas.pages import PageFacts
from tests.chaos.processes import gregor, until

PAGES = 200
RULES = """
[[item]]
name = "number"
match = '.'
function = "tests.outputs.reextract.slow_rule:number"
[extract]
page_facts = ["title"]
[checkpoint]
max_interval_s = 0.2
"""


def items(transport: KafkaTransport, topic: str) -> list[Item]:
    return [decode_item(one.value) for partition in range(4) for one in transport.read(topic, partition, 0)]


def write_pages(transport: KafkaTransport, path: Path) -> set[str]:
    placement = placement_of(load(path, {}).config)
    outputs = []
    for number in range(PAGES):
        server = f"s{number % 7}.example"
        facts = PageFacts(
            server=server,
            path=f"/p{number}",
            lease=f"0-{number + 1}",
            status=200,
            response_headers=(("Content-Type", "text/html"),),
            fetched_ms=1000 + number,
        )
        body = f"<title>Page {number}</title><a href=/p{number + 1}>next</a>".encode()
        outputs.append(Output("pages", placement.partition(server), server.encode(), body, encode(facts)))
    outputs.append(Output("pages", 0, b"x", b"no page", b"no facts"))
    transport.append(outputs)
    return {f"https://s{number % 7}.example/p{number}" for number in range(PAGES)}


def test_killed_in_the_middle_the_same_command_goes_on_and_no_item_is_there_twice(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rules = tmp_path / "gregor.toml", tmp_path / "rules.toml"
    path.write_text(
        f'[crawl]\nname = "again-{secrets.token_hex(4)}"\nscope = "any"\n[partitions]\npartitions = 4\n'
        f'[kafka]\nbootstrap = "{kafka.bootstrap}"\nsession_timeout_s = 30.0\n'
        f'[state]\nfolder = "{tmp_path / "state"}"\n[checkpoint]\nmax_interval_s = 0.2\n'
    )
    rules.write_text(RULES)
    with gregor(path, "topics", "--create") as topics:
        assert topics.wait()[0] == 0
    config = load(path, {}).config
    transport = kafka_transport(config, tmp_path / "look")
    urls = write_pages(transport, path)
    arguments = ("reextract", "--topic", "items-2", "--config", rules)
    with gregor(path, *arguments) as first:
        until(lambda: first.ended is not None or _has_begun(transport), "some items are there")
        first.restart()
        code, printed = first.wait()
        assert code == 0, printed
    found = Counter((one.url, one.rule) for one in items(transport, "items-2"))
    assert found == Counter({(url, rule): 1 for url in urls for rule in ("number", "page")})
    assert not any(end for _, end in transport.ends("discovered").values()), "no links were sent"
    assert not any(end for _, end in transport.ends("items").values())
    assert transport.ends("dead-letters")[0][1] == 0, "what is no page was a dead letter before"

    def run(*args: str, code: int = 0) -> str:
        capsys.readouterr()
        assert cli.run(["--config", str(path), *map(str, args)]) == code
        said, err = capsys.readouterr()
        return said + err

    assert run(*map(str, arguments)).startswith("0 items of 0 pages"), "there is nothing left to do"
    assert len(items(transport, "items-2")) == 2 * PAGES
    other = ("--set", 'extract.page_facts=["language"]')
    assert "name another topic for other rules" in run(*map(str, arguments), *other, code=EXIT_USAGE)
    assert "expected the name of a new topic" in run("reextract", "--topic", "pages", *other, code=EXIT_USAGE)
    assert f"{PAGES} items of {PAGES} pages" in run("reextract", str(tmp_path / "file.jsonl"), *other)


def _has_begun(transport: KafkaTransport) -> bool:
    try:
        return any(end for _, end in transport.ends("items-2").values())
    except GregorError:
        # The topic is not there yet.
        return False
