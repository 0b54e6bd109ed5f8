"""The dashboard of a crawl as Grafana reads it: `python -m infra.grafana.dashboard infra/grafana/dashboards/gregor.json` writes it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from infra.grafana.panels import ROWS, Panel

SOURCE: Final = {"type": "prometheus", "uid": "prometheus"}
COLUMNS: Final = 3
WIDTH, HEIGHT = 24 // COLUMNS, 8


def dashboard() -> dict[str, Any]:
    return {
        "uid": "gregor",
        "title": "gregor: a crawl",
        "tags": ["gregor"],
        "editable": True,
        "schemaVersion": 39,
        "version": 1,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_alerts()]},
        "templating": {"list": [_crawls()]},
        "panels": list(_panels()),
    }


def _alerts() -> dict[str, Any]:
    return {
        "name": "Alerts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "red",
        "expr": 'ALERTS{alertstate="firing"}',
        "titleFormat": "{{alertname}}",
    }


def _crawls() -> dict[str, Any]:
    query = "label_values(gregor_worker_info, crawl)"
    return {
        "name": "crawl",
        "label": "Crawl",
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "crawls"},
        "refresh": 2,
        "sort": 1,
    }


def _panels() -> Iterator[dict[str, Any]]:
    """Rows from top to bottom, three panels side by side in each line."""
    number, top = 0, 0
    for title, panels in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "panels": [],
            "gridPos": _place(0, top, 24, 1),
        }
        top += 1
        for index, panel in enumerate(panels):
            number += 1
            line, column = divmod(index, COLUMNS)
            yield _panel(number, panel, _place(column * WIDTH, top + line * HEIGHT, WIDTH, HEIGHT))
        top += -(-len(panels) // COLUMNS) * HEIGHT


def _place(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"x": left, "y": top, "w": width, "h": height}


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.help,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": {"fillOpacity": 10}}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for index, (legend, expression) in enumerate(panel.queries.items())
        ],
    }


def main() -> None:
    Path(sys.argv[1]).write_bytes(msgspec.json.format(msgspec.json.encode(dashboard())) + b"\n")


if __name__ == "__main__":
    main()
