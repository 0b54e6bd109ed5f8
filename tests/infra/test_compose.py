"""docker-compose.yml, the image and what they mount: everything named is there, and every command is one of gregor's."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from gregor import cli
from gregor.config import load
from infra.grafana.dashboard import dashboard
from infra.kafka.properties import Node, server_properties

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"] == "gregor"}
SCALED = ("frontier", "coordinator", "fetcher", "extractor", "archiver")
CONFIG = ROOT / "infra" / "compose" / "gregor.toml"


def mounts(service: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (source, target) for one in service.get("volumes", ()) if ":" in one for source, target, *_ in [one.split(":")]
    ]


def test_every_file_that_is_mounted_or_built_from_is_there() -> None:
    for service in SERVICES.values():
        for source, _ in mounts(service):
            assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
    assert {one["build"]["dockerfile"] for one in OURS.values()} == {"infra/Dockerfile"}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "infra/Dockerfile").read_text(), re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    assert sources
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for source in sources:
        assert (ROOT / source).exists()
        assert source.partition("/")[0] in kept, f"{source} would be left out of the build"


@pytest.mark.parametrize("name", OURS)
def test_every_service_of_ours_runs_a_command_that_gregor_has(name: str) -> None:
    arguments = OURS[name]["command"]
    command = cli.cli.get_command(click.Context(cli.cli), arguments[0])
    assert command is not None
    context = command.make_context(arguments[0], list(arguments[1:]))
    assert context.params


def test_the_configuration_is_in_order_and_what_compose_says_elsewhere_agrees_with_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["config", "check", str(CONFIG)]) == 0, capsys.readouterr()
    config = load(CONFIG, {}).config
    prometheus = yaml.safe_load((ROOT / "infra/prometheus/prometheus.yml").read_text())
    (found,) = prometheus["scrape_configs"][0]["dns_sd_configs"]
    assert (found["port"], found["names"]) == (config.metrics.port, list(SCALED))
    assert config.metrics.names == SCALED, "they may also be asked by the names of their services"
    dockerfile = (ROOT / "infra/Dockerfile").read_text()
    assert f'"gregor.runtime.metrics.probe", "{config.metrics.port}"' in dockerfile
    assert f"EXPOSE {config.metrics.port}\n" in dockerfile
    assert SERVICES["views"]["healthcheck"]["test"][-2] == str(config.views.port)
    assert config.kafka.bootstrap == "kafka:9092"
    assert {config.metrics.host, config.views.host} == {"0.0.0.0"}, "another container must reach it"
    for service in OURS.values():
        assert ("./infra/compose/gregor.toml", service["environment"]["GREGOR_CONFIG"]) in mounts(service)
    assert ("archive", config.archive.folder) in mounts(SERVICES["archiver"])
    assert all(config.state.folder in SERVICES[name]["volumes"] for name in SCALED), (
        "each container has a state of its own"
    )


def test_what_is_scaled_takes_no_port_and_no_name_and_what_listens_does_so_on_this_machine_alone() -> None:
    for name in SCALED:
        assert not {"ports", "container_name", "hostname"} & SERVICES[name].keys()
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_broker_is_the_one_that_is_tested_with() -> None:
    pom = (ROOT / "infra/kafka/pom.xml").read_text()
    tested = re.search(r"<artifactId>kafka_2.13</artifactId>.*?<version>([\d.]+)</version>", pom, re.DOTALL)
    assert tested is not None
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{tested[1]}"
    node = Node(0, 9092, 9093)
    ours = dict(line.split("=", 1) for line in server_properties(node, (node,), Path("/data")).splitlines())
    theirs = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): str(value)
        for name, value in SERVICES["kafka"]["environment"].items()
        if name.startswith("KAFKA_")
    }
    addresses = ("listener", "advertised", "controller", "log.dirs")
    shared = [name for name in theirs if name in ours and not name.startswith(addresses)]
    assert len(shared) > 10
    assert {name: theirs[name] for name in shared} == {name: ours[name] for name in shared}
    safety = ("replication.factor", "min.isr", "insync", "auto.create", "retention", "max.bytes")
    assert {name for name in ours if any(one in name for one in safety)} <= theirs.keys()


def test_the_image_has_the_versions_that_are_tested_with_and_all_that_gregor_needs() -> None:
    pins = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    image = dict(pins.findall((ROOT / "infra/image.lock").read_text()))
    tested = dict(pins.findall((ROOT / "requirements.lock").read_text()))
    assert image.items() <= tested.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[>=<\[ ;]", one)[0].lower().replace(".", "-") for one in project["dependencies"]}
    assert needed <= image.keys()
    assert not {"pytest", "mypy", "pandas", "scrapy"} & image.keys()


def test_the_dashboard_is_the_one_that_its_program_makes() -> None:
    """`python -m infra.grafana.dashboard infra/grafana/dashboards/gregor.json` makes it again."""
    written = json.loads((ROOT / "infra/grafana/dashboards/gregor.json").read_text())
    assert written == json.loads(json.dumps(dashboard()))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in written["panels"]]
    assert len(set(places)) == len(places), "no two panels at one place"
    source = yaml.safe_load((ROOT / "infra/grafana/provisioning/datasources/prometheus.yml").read_text())
    assert {panel["datasource"]["uid"] for panel in written["panels"] if panel["type"] != "row"} == {
        one["uid"] for one in source["datasources"]
    }


def test_the_probe_of_a_container_ends_with_one_when_nobody_answers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gregor.runtime.metrics.probe", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "nobody answers at port 1" in done.stdout
