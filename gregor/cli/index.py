"""`gregor index`: the indexes of an archive, for replay software and for tables."""

from pathlib import Path

import click

from gregor.cli.say import say
from gregor.outputs.archive.index import MERGED, TABLES, build_index
from gregor.outputs.archive.reader import open_archive


@click.command(short_help="Index an archive: CDXJ and Parquet.")
@click.argument("archive", type=click.Path(path_type=Path))
@click.option("--no-parquet", is_flag=True, help="CDXJ alone, which needs no pyarrow.")
def index(archive: Path, no_parquet: bool) -> None:
    """Bring the indexes of the folder ARCHIVE up to what is committed: ARCHIVE/index/pages.cdxj, sorted and merged, and
    ARCHIVE/index/pages/*.parquet. Only files that have grown since are read. An archiver may be writing meanwhile.

    \b
    Examples:
      gregor index docs/archive
      duckdb -c "select status, count(*) from 'docs/archive/index/pages/*.parquet' group by 1"
    """
    done = build_index(open_archive(archive), parquet=not no_parquet)
    say(f"{done.pages:,} pages in {done.files:,} files, of which {done.made:,} were read.")
    say(f"{archive / MERGED}" + ("" if no_parquet else f", {archive / TABLES}"))
