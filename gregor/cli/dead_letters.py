"""`gregor dead-letters`: records that nobody could read: list them, show one, put them back."""

from itertools import islice
from pathlib import Path

import click

from gregor.cli.say import say, say_json, standard_output
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, folder_option, json_option, now_ms, opened
from gregor.errors import UsageError
from gregor.inspect.explain.checks import moment
from gregor.operate.commands import PutBack
from gregor.operate.dead_letters import Letter, batches, chosen, letter_at, read_dead_letters, refusal
from gregor.runtime.transport.port import LogReader

MOST_BYTES = 10_000
"""Of a value that are shown."""


@click.group("dead-letters", short_help="List, show or put back unreadable records.", invoke_without_command=True)
@folder_option
@bootstrap_option
@json_option
@click.option(
    "--limit", type=click.IntRange(1), default=100, show_default=True, help="Letters to list, the oldest first."
)
@click.option("--all", "everything", is_flag=True, help="List those that were put back, too.")
@click.pass_context
def dead_letters(
    context: click.Context,
    folder: Path | None,
    bootstrap: str | None,
    as_json: bool,
    limit: int,
    everything: bool,
) -> None:
    """List the records that nobody could read, with what was wrong with them. The crawl went on without them.

    A letter that was put back stands in its old topic and partition again, once, however often it is asked for. Put letters back
    after the reason is gone: with a newer version, say. What is still unreadable becomes a new letter.

    \b
    Examples:
      gregor dead-letters --folder docs
      gregor dead-letters show 7 --folder docs
      gregor dead-letters put-back 7 8 --folder docs
      gregor --config big.toml dead-letters put-back all
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(CliSettings), folder, bootstrap, as_json, limit, everything)
    elif folder is not None or bootstrap is not None:
        raise UsageError(f"expected --folder and --bootstrap behind {context.invoked_subcommand}, found them before it")


def _list(
    settings: CliSettings, folder: Path | None, bootstrap: str | None, as_json: bool, limit: int, everything: bool
) -> None:
    with opened(settings, folder, bootstrap) as handle:
        wanted = (letter for letter in read_dead_letters(handle.reader) if everything or not letter.put_back)
        shown = list(islice(wanted, limit))
        left = sum(1 for _ in wanted)
    if as_json:
        document = {"letters": shown, "more": left}
        say_json(document, indent=2)
        return
    for letter in shown:
        say(_line(letter))
    if left:
        say(f"and {left:,} more; --limit shows them")
    if not shown:
        say("no dead letters")


def _line(letter: Letter) -> str:
    facts = letter.facts
    back = " (put back)" if letter.put_back else ""
    where = f"{facts.topic}[{facts.partition}] offset {facts.offset}"
    size = "no value" if facts.size < 0 else f"{facts.size:,} bytes"
    return f"{letter.number}  {moment(facts.found_ms)}  {where}, {size}, by {facts.stage}: {facts.reason}{back}"


@dead_letters.command(short_help="Show one letter with its value.")
@click.argument("number", type=int)
@folder_option
@bootstrap_option
@click.option("--raw", is_flag=True, help="Print the value alone, byte for byte if not to a terminal.")
@pass_settings
def show(settings: CliSettings, number: int, folder: Path | None, bootstrap: str | None, raw: bool) -> None:
    """Show letter NUMBER: where it stood, why it could not be read, and its value.

    \b
    Example:
      gregor dead-letters show 7 --folder docs
    """
    with opened(settings, folder, bootstrap) as handle:
        letter, value = letter_at(handle.reader, number)
    if raw:
        standard_output().write(value)
        return
    say(_line(letter))
    facts = letter.facts
    if facts.key:
        say(f"key: {facts.key}")
    if facts.header:
        say(f"header: {facts.header}")
    reason = refusal(facts)
    if reason:
        say(f"it cannot be put back: {reason}")
    say(value[:MOST_BYTES].decode("utf-8", "backslashreplace"))
    if len(value) > MOST_BYTES:
        say(f"… {len(value) - MOST_BYTES:,} bytes more; --raw prints all")


@dead_letters.command("put-back", short_help="Write letters' records again.")
@click.argument("numbers", nargs=-1, required=True)
@folder_option
@bootstrap_option
@pass_settings
def put_back(settings: CliSettings, numbers: tuple[str, ...], folder: Path | None, bootstrap: str | None) -> None:
    """Write the records of letters NUMBERS, or of `all` that can be and were not yet, to where they stood.

    \b
    Examples:
      gregor dead-letters put-back 7 8 --folder docs
      gregor dead-letters put-back all --folder docs
    """
    with opened(settings, folder, bootstrap) as handle:
        wanted = _chosen(handle.reader, numbers)
        if not wanted:
            say("nothing to put back")
        for part in batches(wanted):
            say(handle.send(PutBack(numbers=tuple(part), now_ms=now_ms())))


def _chosen(reader: LogReader, numbers: tuple[str, ...]) -> list[Letter]:
    """Raises UsageError for what cannot be put back, before anything is written."""
    if numbers == ("all",):
        return [one for one in read_dead_letters(reader) if not one.put_back and not refusal(one.facts)]
    found = [letter for letter, _ in chosen(reader, [_number(text) for text in numbers])]
    for letter in found:
        reason = refusal(letter.facts)
        if reason:
            raise UsageError(f"letter {letter.number} cannot be put back: {reason}")
    return found


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"expected numbers of dead letters or `all`, found {text!r}")
    return int(text)
