"""`gregor pause` and `gregor resume`: hold a crawl or one server back, and let it go on."""

from pathlib import Path

import click

from gregor.cli.say import say
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, folder_option, now_ms, opened, user
from gregor.operate.control_state import control_state, server_named
from gregor.run.topology import FRONTIER
from gregor.runtime.transport.port import LogReader
from schemas.control import Pause
from streams.frontier.inspect import PartitionView


@click.command(short_help="Hold a crawl, or one server, back.")
@click.argument("server", required=False)
@folder_option
@bootstrap_option
@pass_settings
def pause(settings: CliSettings, server: str | None, folder: Path | None, bootstrap: str | None) -> None:
    """Make no new orders for SERVER, or for the whole crawl. What is being fetched is finished; nothing is lost.

    A crawl that runs obeys within a second, one that does not when it goes on. It holds until `gregor resume`, across restarts.

    \b
    Examples:
      gregor pause --folder docs                      the whole crawl
      gregor pause example.com --folder docs          one server
      gregor --config big.toml pause example.com      on a cluster
    """
    _tell(settings, server, folder, bootstrap, paused=True)


@click.command(short_help="Let a crawl, or one server, go on.")
@click.argument("server", required=False)
@folder_option
@bootstrap_option
@pass_settings
def resume(settings: CliSettings, server: str | None, folder: Path | None, bootstrap: str | None) -> None:
    """Let SERVER, or the whole crawl, go on after `gregor pause`. A server that was paused by itself stays paused when the crawl is
    resumed.

    \b
    Examples:
      gregor resume --folder docs
      gregor resume example.com --folder docs
    """
    _tell(settings, server, folder, bootstrap, paused=False)


def _tell(
    settings: CliSettings, given: str | None, folder: Path | None, bootstrap: str | None, *, paused: bool
) -> None:
    server = server_named(given) if given is not None else ""
    what = server or "the whole crawl"
    with opened(settings, folder, bootstrap) as handle:
        # In this order: a command that is carried out in between is seen in one of the two.
        mail = handle.has_mail()
        handle.catch_up()
        known = control_state(handle.reader)
        if not mail and (server in known.servers if server else known.crawl is not None) is paused:
            say(f"{what} is {'paused' if paused else 'not paused'} already")
            return
        said = handle.send(Pause(paused=paused, server=server, by=user(), since_ms=now_ms()))
        say(f"{'pause' if paused else 'resume'} {what}: {said}")
        if server and paused and not _heard_of(handle.reader, handle.partitions, server):
            say(f"nothing is known of {server} here yet; the pause holds all the same")
        if not paused and server and known.crawl is not None:
            say("the whole crawl is still paused; `gregor resume` without a server lets it go on")


def _heard_of(reader: LogReader, partitions: int, server: str) -> bool:
    """True also when it cannot be told."""
    frontier = FRONTIER.spec
    states = [reader.state(frontier, partition) for partition in range(partitions)]
    return any(state is None or PartitionView(state).knows_server(server) for state in states)
