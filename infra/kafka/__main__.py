"""Kafka in the foreground, to try things by hand: `python -m infra.kafka [--brokers N] [--data DIR] [--port P]`."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from types import FrameType

import click

from infra.kafka.cluster import SIZES, KafkaCluster
from infra.kafka.errors import KafkaError


@click.command()
@click.option("--brokers", type=click.Choice([str(size) for size in SIZES]), default="1", show_default=True)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the data here; without it they go at the end.",
)
@click.option(
    "--port", type=click.IntRange(1024, 65_000), help="Port of the first broker; without it free ones are chosen."
)
def main(brokers: str, data: Path | None, port: int | None) -> None:
    """Run Kafka here until Ctrl-C."""
    # SIGINT too: a shell starts what it puts into the background with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    cluster = KafkaCluster(int(brokers), data, port)
    try:
        with cluster:
            _greet(cluster, data)
            _watch(cluster, int(brokers))
    except KeyboardInterrupt:
        click.echo("\nstopped" + (f", data kept in {data}" if data else ""))
    except KafkaError as error:
        sys.exit(str(error))


def _greet(cluster: KafkaCluster, data: Path | None) -> None:
    click.echo(f"Kafka answers at {cluster.bootstrap}")
    click.echo(f'  from Python:  Producer({{"bootstrap.servers": "{cluster.bootstrap}"}})')
    click.echo(f"  with kcat:    kcat -b {cluster.bootstrap} -L")
    click.echo(
        "  topics are not created by themselves; data " + (f"are kept in {data}" if data else "go when it stops")
    )
    click.echo("Ctrl-C stops it.")


def _watch(cluster: KafkaCluster, brokers: int) -> None:
    while True:
        for i in range(brokers):
            if not cluster.alive(i):
                raise KafkaError(f"broker {i} ended by itself; its log is in {cluster.folder}/broker-{i}/broker.log")
        time.sleep(0.5)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
