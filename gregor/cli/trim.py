"""`gregor trim`: delete from the topics what every reader has passed."""

from pathlib import Path

import click

from gregor.cli.numbers import Finite
from gregor.cli.say import say, say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.status import table
from gregor.cli.target import bootstrap_option, folder_option, json_option, now_ms, opened
from gregor.operate.commands import trim_of
from gregor.operate.config_history import recall_config
from gregor.operate.control_state import control_state
from gregor.operate.trimming import TRIMMABLE, TopicPlan, places, plan, readers_of
from gregor.outputs.report.make import FOLDED
from gregor.run.topology import ROLES, enabled_roles

HOUR_MS = 3_600_000


@click.command(short_help="Delete what every reader has passed.")
@folder_option
@bootstrap_option
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help=f"Only these: {', '.join(TRIMMABLE)}.")
@click.option(
    "--keep-hours",
    type=Finite(0, 876_000),
    default=168.0,
    show_default=True,
    help="Keep what is younger, for replays and `gregor explain`.",
)
@click.option(
    "--without",
    type=click.Choice([name for name, role in ROLES.items() if role.optional]),
    help="This crawl has none, so that nothing is kept for it.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@json_option
@pass_settings
def trim(
    settings: CliSettings,
    folder: Path | None,
    bootstrap: str | None,
    topics: tuple[str, ...],
    keep_hours: float,
    without: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete from the crawl's topics what every reader has passed and what is older than --keep-hours.

    The crawl needs none of it to go on, also after a crash. What goes is lost to `gregor explain` and to replays, and what goes of
    fetched and verdicts to `gregor report`. Never touched: the changelog, control, archive, items and dead letters.

    \b
    Examples:
      gregor trim --folder docs --dry-run
      gregor trim --folder docs --keep-hours 24
      gregor --config big.toml trim --topic pages --keep-hours 1
    """
    with opened(settings, folder, bootstrap) as handle:
        config = recall_config(control_state(handle.reader))
        roles = ROLES if config is None else enabled_roles(config)
        stages = {name: role.spec.inputs for name, role in roles.items() if name != without}
        before_ms = now_ms() - int(keep_hours * HOUR_MS)
        plans = plan(handle.reader, topics or TRIMMABLE, readers_of(stages), before_ms)
        said = "nothing was deleted: this is what would go" if dry_run else "there is nothing to delete"
        if not dry_run and any(one.before for one in plans):
            said = handle.send(trim_of(places(plans)))
    if as_json:
        document = {"dry_run": dry_run, "keep_hours": keep_hours, "topics": plans, "said": said}
        say_json(document, indent=2)
        return
    say_lines(table([("topic", "to go", "about MiB", "stays", "held back by"), *map(_row, plans)]))
    say(said)
    if any(one.records for one in plans if one.topic in FOLDED):
        say(f"The report is folded from {' and '.join(FOLDED)}: one that is made afterwards tells of the rest alone.")


def _row(one: TopicPlan) -> tuple[str, str, str, str, str]:
    return (
        one.topic,
        f"{one.records:,}",
        f"{one.bytes / 2**20:,.2f}",
        f"{one.kept:,}",
        ", ".join(one.held_by) or "-",
    )
