"""`gregor export`: pages out of an archive, without knowing WARC."""

from pathlib import Path
from typing import Literal

import click

from gregor.cli.say import say, standard_output
from gregor.errors import CheckFailed
from gregor.outputs.archive.choice import choice
from gregor.outputs.archive.content import text_of
from gregor.outputs.archive.export import LIST, export_bodies, export_lines, export_texts
from gregor.outputs.archive.places import require_empty, whole_file
from gregor.outputs.archive.reader import open_archive


@click.command(short_help="Take pages out of an archive: bodies, text or JSONL.")
@click.argument("archive", type=click.Path(path_type=Path))
@click.argument("urls", nargs=-1)
@click.option(
    "--as",
    "form",
    type=click.Choice(["jsonl", "text", "body"]),
    default="jsonl",
    help="A line of JSON with facts and text for each page, the text alone, or the bodies as they came.",
)
@click.option("--match", metavar="REGEX", help="Only URLs in which this regular expression (RE2) is found.")
@click.option("--all", "every", is_flag=True, help="Also errors, redirects and robots.txt.")
@click.option(
    "--output", type=click.Path(path_type=Path), help="A file for jsonl, a folder for text and body. Without: stdout."
)
def export(
    archive: Path,
    urls: tuple[str, ...],
    form: Literal["jsonl", "text", "body"],
    match: str | None,
    every: bool,
    output: Path | None,
) -> None:
    """Take pages out of the folder ARCHIVE: those of URLS, where a final * stands for any ending, or all. A page that was fetched
    several times is there several times, in order of its visits; where a visit found nothing new, with the body of the one before.

    \b
    Examples:
      gregor export docs/archive --output pages.jsonl
      gregor export docs/archive 'https://docs.example.com/guide/*' --as text --output guide
      gregor export docs/archive https://docs.example.com/logo.png --as body > logo.png
    """
    wanted = choice(urls, match, every)
    pages = (page for page in open_archive(archive).whole_pages() if wanted(page))
    if form == "jsonl":
        if output is None:
            count = export_lines(pages, standard_output())
        else:
            with whole_file(output) as file:
                count = export_lines(pages, file)
                _require_some(count, archive)
    elif output is not None:
        require_empty(output)
        count = export_bodies(pages, output) if form == "body" else export_texts(pages, output)
    else:
        count = 0
        out = standard_output()
        for page in pages:
            out.write(page.body if form == "body" else text_of(page).encode("utf-8", "replace") + b"\n")
            count += 1
    _require_some(count, archive)
    if output is not None:
        say(f"{count:,} pages in {output}" + (f", listed in {output / LIST}" if form != "jsonl" else ""))


def _require_some(count: int, archive: Path) -> None:
    if not count:
        raise CheckFailed(f"no page of {archive} was chosen; --all takes errors and redirects too")
