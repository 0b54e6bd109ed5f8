"""`gregor items`: what the item rules took out of pages, as files."""

from pathlib import Path
from typing import Literal

import click

from gregor.cli.say import say
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, folder_option, opened
from gregor.outputs.archive.items import items_of, write_jsonl, write_parquet

_WRITERS = {"jsonl": write_jsonl, "parquet": write_parquet}


@click.command(short_help="Take the items of a crawl: JSONL or Parquet.")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", help="One file, or a folder.")
@folder_option
@bootstrap_option
@pass_settings
def items(
    settings: CliSettings, output: Path, form: Literal["jsonl", "parquet"], folder: Path | None, bootstrap: str | None
) -> None:
    """Write all items that are committed to OUTPUT: a JSONL file, or a folder with a Parquet file for each rule.

    Items by other rules than the crawl ran under are `gregor reextract`.

    \b
    Examples:
      gregor items items.jsonl --folder docs
      gregor --config shop.toml items items --as parquet
    """
    with opened(settings, folder, bootstrap) as handle:
        count = _WRITERS[form](lambda: items_of(handle.reader), output)
    say(f"{count:,} items in {output}")
