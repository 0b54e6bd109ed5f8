"""`gregor rebuild`: throw a worker's local state away, so that its next start restores it from the changelog."""

import shutil
from pathlib import Path

import click

from gregor.cli.say import say
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import cluster
from gregor.config import Config
from gregor.errors import CorruptState, UsageError
from gregor.operate.restorable import check_restorable
from gregor.run.topology import ROLES
from gregor.runtime.transport.kafka.member import MemberFolder


@click.command(short_help="Throw a worker's state away; its next start restores it.")
@click.option("--folder", type=click.Path(path_type=Path), help="The worker's folder, as given to `gregor worker`.")
@pass_settings
def rebuild(settings: CliSettings, folder: Path | None) -> None:
    """Throw the state of a worker on a cluster away; its next start restores all of it from the changelog.

    For a folder that was refused: foreign, corrupt, or ahead of its changelog. The worker must not be running. The changelog is read
    before anything goes: when a restore from it would stop, nothing is thrown away, and the exit code is 4. The member's id stays, so
    that it is known to the group as before. A crawl without a broker (`gregor crawl`) has no changelog to restore from, and its folder
    is refused here. To make a state from the crawl's inputs instead, and compare, is `gregor replay`.

    \b
    Example:
      gregor rebuild --folder state/a
    """
    config = settings.load().config
    place = folder or Path(config.state.folder)
    members = sorted(path.parent for path in place.glob("*/member"))
    if not members:
        raise UsageError(f"expected a worker's folder, with a member in it, found none in {place}")
    for path in members:
        _clear(path, config)


def _clear(path: Path, config: Config) -> None:
    """One stage of the worker, under its lock."""
    member = MemberFolder(path)
    try:
        partitions = sorted(path.glob("partition-*"))
        if partitions:
            _look_first(config, path.name, [int(one.name.removeprefix("partition-")) for one in partitions])
        for partition in partitions:
            shutil.rmtree(partition)
        # A folder that was refused because it is another crawl's is this one's from now on.
        member.disown()
    finally:
        member.close()
    say(f"{path.name}: {len(partitions)} partitions thrown away, restored at the next start")


def _look_first(config: Config, stage: str, partitions: list[int]) -> None:
    if stage not in ROLES:
        raise UsageError(f"expected the state of a role, one of {', '.join(sorted(ROLES))}, found that of {stage!r}")
    transport = cluster(config)
    try:
        transport.require(config.layout)
        for partition in partitions:
            check_restorable(transport, ROLES[stage].spec, partition)
    except CorruptState as error:
        raise CorruptState(f"nothing was thrown away: {error.message}", remedy=error.remedy) from error
    finally:
        transport.close()
