"""Rules and dashboard speak of metrics that exist, every alert has its page in the runbook, and promtool agrees."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gregor.run.metrics_document import document
from gregor.run.topology import METRICS
from infra.grafana.panels import ROWS

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "infra" / "prometheus"
RULES = [rule for group in yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
TESTS = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text())["tests"]
LABELS = {"crawl", "role", "instance", "job", "le"}


def names() -> set[str]:
    """Every series that a worker can show."""
    endings = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    return {f"{metric.name}{ending}" for metric in METRICS for ending in endings[metric.kind]}


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in RULES)
    yield from (series["series"] for test in TESTS for series in test["input_series"])
    yield from (query for panels in ROWS.values() for panel in panels for query in panel.queries.values())


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_an_expression_asks_for_metrics_and_labels_that_exist(expression: str) -> None:
    asked = set(re.findall(r"\bgregor_[a-z_]+", expression))
    assert asked <= names()
    known = {
        label for metric in METRICS if metric.name.startswith(tuple(asked)) or metric.labels for label in metric.labels
    }
    for inside in re.findall(r"\{([^}]*)\}|by \(([^)]*)\)", expression):
        for part in re.sub(r'"[^"]*"', "", ",".join(inside)).split(","):
            label = re.split(r"[=!~]", part.strip())[0]
            assert not label or label in known | LABELS, f"{label} in {expression}"


def test_every_metric_is_looked_at_by_somebody() -> None:
    asked = {name for one in expressions() for name in re.findall(r"\bgregor_[a-z_]+", one)}
    unused = {metric.name for metric in METRICS if not any(name.startswith(metric.name) for name in asked)}
    assert unused == set()


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_page_in_the_runbook_and_a_test_in_which_it_fires(alert: str) -> None:
    rule = ALERTS[alert]
    path, _, anchor = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert rule["labels"]["severity"] in ("warning", "critical")
    fired = [
        one for test in TESTS for one in test["alert_rule_test"] if one["alertname"] == alert and one["exp_alerts"]
    ]
    assert fired


def test_the_tables_of_metrics_are_those_of_the_catalogue() -> None:
    """`python -m gregor.run.metrics_document` prints them."""
    assert document().strip() in (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert len({metric.name for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize(
    "arguments",
    [("check", "config", "prometheus.yml"), ("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml")],
)
def test_promtool_agrees(arguments: tuple[str, ...]) -> None:
    needed = subprocess.run([ROOT / "infra" / "need.sh", "promtool"], capture_output=True, text=True, check=False)
    assert needed.returncode == 0, needed.stderr
    done = subprocess.run(["promtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
