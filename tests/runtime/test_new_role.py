"""What a newcomer has to write for one more stage: its folder (`trial/role.py`) and a line in the topology. Everybody else hears of it."""

from pathlib import Path

import pytest

from gregor.cli.cluster import cluster
from gregor.config import load
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.operate.active_stages import stages_of
from gregor.run.embedded import EmbeddedCrawl
from gregor.run.topology import ROLES, enabled_roles
from tests.run.configured import write_config
from tests.runtime.trial.role import ROLE, folder

RULE = """
[[item]]
name = "heading"
match = "."
[item.fields]
title = {css = "title"}
"""


@pytest.fixture
def one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line in the topology."""
    monkeypatch.setitem(ROLES, ROLE.name, ROLE)


@pytest.mark.usefixtures("one_line")
def test_a_role_that_the_topology_lists_takes_part_in_a_crawl_and_is_waited_for(tmp_path: Path) -> None:
    site = DemoSite()
    with serve(site) as server:
        path = write_config(tmp_path / "gregor.toml", server)
        path.write_text(path.read_text() + RULE)
        config = load(path, {}, {}).config
        crawl = EmbeddedCrawl(config, tmp_path / "crawl")
        try:
            progress = crawl.run()
            items = [
                record.value or b""
                for partition, (first, end) in crawl.transport.ends("items").items()
                for record in crawl.transport.read("items", partition, first, end)
            ]
            assert ROLE.spec in stages_of(crawl.transport)
        finally:
            crawl.close()
    copied = [line for file in folder(tmp_path / "crawl").iterdir() for line in file.read_bytes().splitlines()]
    assert progress.lag[ROLE.name] == 0
    assert sorted(copied) == sorted(items)
    assert len(items) == site.hosts * site.pages_per_host, "an item for each page"


@pytest.mark.usefixtures("one_line")
def test_a_role_that_the_configuration_does_not_want_takes_no_part(tmp_path: Path) -> None:
    with serve(DemoSite()) as server:
        config = load(write_config(tmp_path / "gregor.toml", server), {}, {}).config
    assert ROLE.optional
    assert ROLE.name not in enabled_roles(config)


def test_the_command_line_has_an_option_for_each_role() -> None:
    options = {option for parameter in cluster.params for option in parameter.opts}
    assert {f"--{name}s" for name in ROLES} <= options
