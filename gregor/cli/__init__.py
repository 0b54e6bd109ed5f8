"""The command line: options in, lines out, nothing decided here. `main` is the console script: a mistake is one line and an exit code."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from gregor.cli.group import cli
from gregor.cli.say import say, say_lines
from gregor.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_BUG,
    EXIT_ENVIRONMENT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    GregorError,
    no_access,
    no_room,
)
from gregor.printable import log_printable, printed_traceback

__all__ = ["cli", "main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code (gregor/errors.py lists them)."""
    log_printable()
    if isinstance(sys.stdout, TextIOWrapper):
        # A character that the terminal's encoding lacks is escaped, as on stderr.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if args is None else list(args)))


def run(args: list[str]) -> int:
    """The exit code of one command; whatever it had to say has been said."""
    if sys.stdout is None:
        # The next file that is opened would take its place, and be written to by whoever means the output.
        _say("expected somewhere to write to, found standard output closed; send it to a file or to /dev/null")
        return EXIT_ENVIRONMENT
    if "_GREGOR_COMPLETE" in os.environ:
        cli.main(args, prog_name="gregor")
    try:
        return _run(args)
    except BrokenPipeError:
        # Nobody reads us any more. The interpreter flushes stdout once more at its end, which must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"; try `{context.command_path} --help`" if context is not None else ""
        _say(f"{error.format_message().rstrip('.')}{hint}")
        return EXIT_USAGE
    except GregorError as error:
        _say(str(error))
        return error.exit_code
    except Exception as error:
        known = no_room("what is written", error) or _refused(error)
        if known is None:
            say_lines(printed_traceback(error), err=True)
            _say(
                "this is a bug in gregor: please report it to the project with the lines above and the command you ran"
            )
            return EXIT_BUG
        _say(str(known))
        return known.exit_code


def _run(args: list[str]) -> int:
    try:
        with cli.make_context("gregor", args) as context:
            cli.invoke(context)
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        say_lines(help_wanted.format_message().split("\n"), err=True)
        return EXIT_USAGE
    except click.exceptions.Exit as end:
        sys.stdout.flush()
        return end.exit_code
    sys.stdout.flush()
    return EXIT_OK


def _refused(error: Exception) -> GregorError | None:
    """What the system said of a file by its name is about this user's machine."""
    return no_access("", error) if isinstance(error, OSError) and error.filename is not None else None


def _say(line: str) -> None:
    say(f"gregor: {line}", err=True)
