"""`gregor worker`: one stage of a crawl as one process on a Kafka cluster."""

import faulthandler
import logging
import signal
from pathlib import Path

import click

from gregor.cli.say import say
from gregor.cli.settings import CliSettings, pass_settings
from gregor.config import Flag
from gregor.printable import log_printable
from gregor.run.topology import ROLES
from gregor.run.worker import run_worker

VIEWS = "views"


@click.command(short_help="Run one stage of a crawl, or its live page.")
@click.argument("role", type=click.Choice([*sorted(ROLES), VIEWS]))
@click.option(
    "--folder", type=click.Path(path_type=Path), help="The worker's state; one process at a time may hold it."
)
@click.option("--bootstrap", help="Brokers to ask first: host:port, several with commas.")
@click.option("--metrics-port", type=click.IntRange(0, 65_535), help="Port of /metrics and /healthz; 0: none.")
@click.option("--views-port", type=click.IntRange(0, 65_535), help="Port of the views' page; 0: any that is free.")
@pass_settings
def worker(
    settings: CliSettings,
    role: str,
    folder: Path | None,
    bootstrap: str | None,
    metrics_port: int | None,
    views_port: int | None,
) -> None:
    """Run one stage (ROLE) of the configured crawl as a member of its consumer group.

    Start as many as you want, on any machine, each with a folder of its own. SIGTERM finishes the checkpoint and leaves; after
    a kill -9 the same command goes on, and so does any other member of the group. SIGUSR1 prints where each of its threads stands.

    The role `views` reads the whole crawl, keeps nothing, and shows it: a live page at http://127.0.0.1:8642/, and JSON.

    \b
    Examples:
      gregor worker frontier --folder state/a
      gregor worker fetcher --folder state/b --bootstrap broker-1:9092,broker-2:9092 --metrics-port 9102
    """
    # In C, so that it answers also when the interpreter waits for a library that does not return.
    faulthandler.register(signal.SIGUSR1)
    log_printable(logging.INFO, "%(asctime)s %(levelname)s %(name)s %(message)s")
    flags = {
        "kafka.bootstrap": Flag(bootstrap, "--bootstrap"),
        "metrics.port": Flag(metrics_port, "--metrics-port"),
        "views.port": Flag(views_port, "--views-port"),
    }
    config = settings.load(flags).config
    if role == VIEWS:
        # Faust takes a while to import, which no other role needs.
        from gregor.outputs.live.run import run_views

        run_views(config, folder or Path(config.state.folder), lambda address: say(f"The page is {address}"))
        return
    run_worker(role, config, folder or Path(config.state.folder))
