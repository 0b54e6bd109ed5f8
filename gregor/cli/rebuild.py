"""`gregor rebuild`: throw a worker's local state away, so that its next start restores it from the changelog."""

import shutil
from pathlib import Path

import click

from gregor.cli.settings import Settings, pass_settings
from gregor.errors import UsageError
from gregor.transport.kafka.member import MemberFolder


@click.command(short_help="Throw a worker's state away; its next start restores it.")
@click.option("--folder", type=click.Path(path_type=Path), help="The worker's folder, as given to `gregor worker`.")
@pass_settings
def rebuild(settings: Settings, folder: Path | None) -> None:
    """Throw the state of a worker on a cluster away; its next start restores all of it from the changelog.

    For a folder that was refused: foreign, corrupt, or ahead of its changelog. The worker must not be running. The member's id
    stays, so that it is known to the group as before. A crawl without a broker (`gregor crawl`) has no changelog to restore from,
    and its folder is refused here. To make a state from the crawl's inputs instead, and compare, is `gregor replay`.

    \b
    Example:
      gregor rebuild --folder state/a
    """
    place = folder or Path(settings.load().config.state.folder)
    members = sorted(path.parent for path in place.glob("*/member"))
    if not members:
        raise UsageError(f"expected a worker's folder, with a member in it, found none in {place}")
    for path in members:
        _clear(path)


def _clear(path: Path) -> None:
    """One stage of the worker, under its lock."""
    member = MemberFolder(path)
    try:
        partitions = sorted(path.glob("partition-*"))
        for partition in partitions:
            shutil.rmtree(partition)
    finally:
        member.close()
    click.echo(f"{path.name}: {len(partitions)} partitions thrown away, restored at the next start")
