"""`gregor items`: what the item rules took out of pages, as files."""

from pathlib import Path
from typing import Literal

import click

from gregor.archive.items import items_of, write_jsonl, write_parquet
from gregor.cli.settings import Settings, pass_settings
from gregor.config import Flag
from gregor.pipeline.reading import log_of

_WRITERS = {"jsonl": write_jsonl, "parquet": write_parquet}


@click.command(short_help="Take the items of a crawl: JSONL or Parquet.")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", help="One file, or a folder.")
@click.option("--folder", type=click.Path(path_type=Path), help="Of a crawl on this machine; without: the cluster.")
@click.option("--bootstrap", help="Brokers to ask first: host:port, several with commas.")
@pass_settings
def items(
    settings: Settings, output: Path, form: Literal["jsonl", "parquet"], folder: Path | None, bootstrap: str | None
) -> None:
    """Write all items that are committed to OUTPUT: a JSONL file, or a folder with a Parquet file for each rule.

    \b
    Examples:
      gregor items items.jsonl --folder docs
      gregor --config shop.toml items items --as parquet
    """
    config = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap")}).config
    with log_of(config, folder) as log:
        write = _WRITERS[form]
        click.echo(f"{write(lambda: items_of(log), output):,} items in {output}")
