"""`gregor stop`: every worker of a crawl on a cluster finishes its checkpoint and leaves."""

import time
from collections.abc import Mapping

import click

from gregor.cli.numbers import Finite
from gregor.cli.say import say
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, cluster, now_ms, user
from gregor.config import Flag
from gregor.errors import CheckFailed
from gregor.run.topology import ROLES
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.control import STOP_KEY, Stop


@click.command(short_help="Let all workers of a crawl leave.")
@bootstrap_option
@click.option(
    "--wait",
    metavar="SECONDS",
    type=Finite(0),
    default=60.0,
    show_default=True,
    help="For all to have left; 0: do not wait.",
)
@pass_settings
def stop(settings: CliSettings, bootstrap: str | None, wait: float) -> None:
    """Tell every worker of the configured crawl, on whatever machine, to finish its checkpoint and leave. Nothing is lost: workers that
    are started later go on where these stopped. To keep a crawl from going on, `gregor pause` it.

    A member keeps its place in its group for kafka.session_timeout_s after it has left, so that waiting takes at least so long. Ends
    with exit code 1 when some are still there after --wait. A crawl in a folder is stopped by Ctrl-C or SIGTERM.

    \b
    Examples:
      gregor --config big.toml stop
      gregor --config big.toml stop --wait 0
    """
    config = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap")}).config
    transport = cluster(config)
    try:
        transport.require(config.layout)
        transport.append([Output("control", 0, STOP_KEY, encode(Stop(by=user(), since_ms=now_ms())))])
        say(f"the workers of crawl {config.crawl.name} were told to stop")
        left = _await(transport, wait) if wait else {}
    finally:
        transport.close()
    if left:
        there = ", ".join(f"{count} in {stage}" for stage, count in left.items())
        raise CheckFailed(
            f"expected no members after {wait:g} s, found {there}", remedy="see whether these processes hang"
        )
    if wait:
        say("all of them have left")


def _await(transport: KafkaTransport, patience_s: float) -> Mapping[str, int]:
    """Members that are left when the time is over; empty: none."""
    give_up = time.monotonic() + patience_s
    while True:
        left = {stage: count for stage in ROLES if (count := transport.members(stage))}
        if not left or time.monotonic() > give_up:
            return left
        time.sleep(0.5)
