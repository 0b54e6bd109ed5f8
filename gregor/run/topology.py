"""The topology as data: every role of a crawl. To add one is a folder with a `role.py`, and a line here."""

from typing import Final

from gregor.config import Config
from gregor.runtime.metrics.metric_defs import COMMON, Metric
from gregor.runtime.role import Role
from streams.coordinator.role import ROLE as COORDINATOR
from streams.frontier.role import ROLE as FRONTIER
from workers.archiver.role import ROLE as ARCHIVER
from workers.extractor.role import ROLE as EXTRACTOR
from workers.fetcher.role import ROLE as FETCHER

__all__ = ["ARCHIVER", "COORDINATOR", "EXTRACTOR", "FETCHER", "FRONTIER", "METRICS", "ROLES", "enabled_roles"]

ROLES: Final[dict[str, Role]] = {role.name: role for role in (FRONTIER, COORDINATOR, FETCHER, EXTRACTOR, ARCHIVER)}

METRICS: Final[tuple[Metric, ...]] = (*COMMON, *(metric for role in ROLES.values() for metric in role.metrics))


def enabled_roles(config: Config) -> dict[str, Role]:
    """Those that a crawl of this configuration has."""
    return {name: role for name, role in ROLES.items() if role.enabled(config)}
