"""`gregor pause` and `gregor resume`: hold a crawl or one server back, and let it go on."""

import getpass
from pathlib import Path

import click

from gregor.cli.settings import Settings, pass_settings
from gregor.cli.target import bootstrap_option, folder_option, now_ms, opened
from gregor.pipeline.operate.pauses import held, server_named
from gregor.pipeline.stages import ROLES
from gregor.transport.port import LogReader
from schemas.control import Pause
from streams.frontier.families import SERVERS


@click.command(short_help="Hold a crawl, or one server, back.")
@click.argument("server", required=False)
@folder_option
@bootstrap_option
@pass_settings
def pause(settings: Settings, server: str | None, folder: Path | None, bootstrap: str | None) -> None:
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
def resume(settings: Settings, server: str | None, folder: Path | None, bootstrap: str | None) -> None:
    """Let SERVER, or the whole crawl, go on after `gregor pause`. A server that was paused by itself stays paused when the crawl is
    resumed.

    \b
    Examples:
      gregor resume --folder docs
      gregor resume example.com --folder docs
    """
    _tell(settings, server, folder, bootstrap, paused=False)


def _tell(settings: Settings, given: str | None, folder: Path | None, bootstrap: str | None, *, paused: bool) -> None:
    server = server_named(given) if given is not None else ""
    what = server or "the whole crawl"
    with opened(settings, folder, bootstrap) as access:
        # In this order: a command that is carried out in between is seen in one of the two.
        mail = access.has_mail()
        access.catch_up()
        known = held(access.reader)
        if not mail and (server in known.servers if server else known.crawl is not None) is paused:
            click.echo(f"{what} is {'paused' if paused else 'not paused'} already")
            return
        said = access.send(Pause(paused=paused, server=server, by=_user(), since_ms=now_ms()))
        click.echo(f"{'pause' if paused else 'resume'} {what}: {said}")
        if server and paused and not _heard_of(access.reader, access.partitions, server):
            click.echo(f"nothing is known of {server} here yet; the pause holds all the same")
        if not paused and server and known.crawl is not None:
            click.echo("the whole crawl is still paused; `gregor resume` without a server lets it go on")


def _heard_of(reader: LogReader, partitions: int, server: str) -> bool:
    """True also when it cannot be told."""
    frontier = ROLES["frontier"].spec
    states = [reader.state(frontier, partition) for partition in range(partitions)]
    return any(state is None or state.get(SERVERS, server.encode()) is not None for state in states)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
