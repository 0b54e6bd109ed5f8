"""`gregor topics`: whether the cluster has the crawl's topics as they must be, and the creation of those it lacks."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from gregor.cli.say import say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.config import Config, Flag
from gregor.errors import CheckFailed, TopologyError
from gregor.printable import log_printable
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.reachable import require_somebody
from gregor.runtime.transport.kafka.topics import (
    RETENTION,
    TopicDifference,
    TopicFound,
    check_layout,
    compare,
    create,
    find_topics,
    forgets_after_days,
    remedy,
)
from schemas.control import Layout
from schemas.topics import TOPICS, Topic

_log = logging.getLogger("gregor.topics")

SHORT_REST_DAYS = 30
RECORDED = ("layout", "placement")
"""Told below the table: `control` records them, they are no settings of a topic."""
COLUMNS = ("topic", "partitions", "cleanup", "kept", "largest record", "")


class _First(logging.Filter):
    """Lets one line through: that no broker answers is worth saying once, not at every try."""

    said = False

    def filter(self, record: logging.LogRecord) -> bool:
        first, self.said = not self.said, True
        return first


@click.command(short_help="Check or create the crawl's topics.")
@click.option("--create", "make", is_flag=True, help="Create what is missing. Nothing that exists is changed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option("--bootstrap", help="Brokers to ask first: host:port, several with commas.")
@pass_settings
def topics(settings: CliSettings, make: bool, as_json: bool, bootstrap: str | None) -> None:
    """Compare the topics of the configured crawl with what the cluster has: partitions, clean-up, retention, sizes.

    Ends with exit code 1 when something is missing or differs. Topics that exist are never changed or deleted.

    \b
    Examples:
      gregor topics                                   what differs
      gregor topics --create --bootstrap broker:9092  make what is missing
    """
    config = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap") if bootstrap else None}).config
    log_printable(logging.WARNING, "gregor: %(message)s")
    logging.getLogger("gregor.kafka").addFilter(_First())
    if not make:
        # Whoever makes topics often starts the brokers in the same breath, and waits for them as a worker does.
        require_somebody(config.kafka)
    clients = Clients(config.names, config.kafka)
    admin = clients.wait_for_broker()
    layout = config.layout
    made: list[str] = []
    if make:
        # What cannot be mended by creating is told below, with everything else that differs.
        with suppress(TopologyError):
            made = create(clients, admin, layout)
    found = find_topics(admin, config.names)
    differences = compare(found, config.names, layout)
    if "control" in found:
        differences += check_layout(clients, layout)
    if as_json:
        say_json(_document(config, layout, found, differences, made), indent=2)
    else:
        say_lines(_as_text(config, layout, found, differences, made))
    days = forgets_after_days(admin)
    if days is not None and days < SHORT_REST_DAYS:
        _log.warning(
            "the brokers forget where workers stand %g days after the last of a role has left (%s): set it to 5256000, "
            "or let no role rest for so long",
            days,
            RETENTION,
        )
    if differences:
        raise CheckFailed(_summary(differences), remedy=remedy(differences))


def _summary(differences: Sequence[TopicDifference]) -> str:
    missing = sum(1 for one in differences if one.creatable)
    differing = len(differences) - missing
    parts = [f"{missing} missing"] if missing else []
    parts += [f"{differing} not as expected"] if differing else []
    return f"the crawl's topics: {', '.join(parts)}"


def _document(
    config: Config,
    layout: Layout,
    found: Mapping[str, TopicFound],
    differences: Sequence[TopicDifference],
    made: Sequence[str],
) -> dict[str, Any]:
    return {
        "crawl": config.crawl.name,
        "bootstrap": config.kafka.bootstrap,
        "layout": {
            "repositories": layout.repositories,
            "partitions": layout.partitions,
            "by": layout.partition_by,
            "placement": layout.placement,
        },
        "created": made,
        "topics": {config.names.topic(topic.name): found.get(topic.name) for topic in TOPICS},
        "differences": differences,
        "ok": not differences,
    }


def _as_text(
    config: Config,
    layout: Layout,
    found: Mapping[str, TopicFound],
    differences: Sequence[TopicDifference],
    made: Sequence[str],
) -> Iterator[str]:
    yield (
        f"crawl {config.crawl.name} at {config.kafka.bootstrap}: N = {layout.repositories} repositories, "
        f"P = {layout.partitions} partitions by {layout.partition_by}, placed by {layout.placement}"
    )
    yield ""
    rows = [COLUMNS] + [_row(config, topic, found.get(topic.name), differences, made) for topic in TOPICS]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        cells = [
            cell.rjust(width) if column in (1, 4) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
    for one in differences:
        if one.aspect in RECORDED:
            yield ""
            yield str(one)


def _row(
    config: Config, topic: Topic, there: TopicFound | None, differences: Sequence[TopicDifference], made: Sequence[str]
) -> tuple[str, ...]:
    name = config.names.topic(topic.name)
    if there is None:
        return name, "-", "-", "-", "-", "missing"
    wrong = [one for one in differences if one.topic == name and one.aspect not in RECORDED]
    told = ", ".join(f"{one.aspect} should be {one.expected}" for one in wrong)
    kept = {there.settings.get("retention.ms", ""), there.settings.get("retention.bytes", "")}
    return (
        name,
        str(there.partitions),
        there.settings.get("cleanup.policy", ""),
        "all" if kept == {"-1"} else _limits(there),
        _size(there.settings.get("max.message.bytes", "")),
        told or ("created" if name in made else "ok"),
    )


def _limits(there: TopicFound) -> str:
    age, size = there.settings.get("retention.ms", ""), there.settings.get("retention.bytes", "")
    limits = [f"{int(age) / 3_600_000:g} h"] if age not in ("", "-1") else []
    limits += [_size(size)] if size not in ("", "-1") else []
    return " or ".join(limits)


def _size(text: str) -> str:
    return f"{int(text) / 2**20:.2f} MiB" if text else ""
