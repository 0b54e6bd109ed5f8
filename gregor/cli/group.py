"""The top of the command line: `gregor` itself, its help, and commands that are imported when they are run."""

import os
from importlib import import_module
from pathlib import Path

import click

from gregor.cli.commands import COMMANDS, Section
from gregor.cli.say import say
from gregor.cli.settings import CliSettings

DISTRIBUTION = "gregor-crawl"

EPILOG = """\b
Examples:
  gregor crawl --demo                    a small bundled site, in seconds
  gregor status docs                     how the crawl in that folder is doing
  gregor explain https://example.com/a docs
                                         all that is known of a URL, and why
  gregor --config big.toml topics        what a cluster lacks for this crawl
  gregor --config big.toml worker fetcher --folder state/a
  gregor config show                     every setting, its value, its origin

\b
Configuration: --config FILE, or $GREGOR_CONFIG, or ./gregor.toml; above it
GREGOR_<SECTION>__<KEY> variables; above them the options of a command.
Documentation: the project's README.md, then docs/architecture.md.
Exit codes: 0 done, 1 a check failed, 2 no broker, 3 configuration or usage,
4 state folder refused, 130 interrupted.
"""


class LazyGroup(click.Group):
    """A group whose commands stand in a table and are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = COMMANDS.get(cmd_name)
        if lazy is None:
            return None
        module, _, attribute = lazy.target.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{lazy.target} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; the nearest command is {near[0]}" if near else ""
            raise click.UsageError(f'there is no command "{args[0]}"{hint}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in Section:
            rows = [(name, lazy.help) for name, lazy in COMMANDS.items() if lazy.section is section]
            if rows:
                with formatter.section(section.value):
                    formatter.write_dl(rows)


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        from workers.extractor.readers import described

        try:
            say(f"gregor {version(DISTRIBUTION)}; {described()}")
        except PackageNotFoundError:
            say(f"gregor (not installed, run from its source); {described()}")
        context.exit()


@click.command(
    cls=LazyGroup,
    epilog=EPILOG,
    subcommand_metavar="COMMAND …",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.option("--config", "path", type=click.Path(path_type=Path), metavar="FILE", help="The configuration to use.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.pass_context
def cli(context: click.Context, /, path: Path | None) -> None:
    """gregor is a web crawler whose whole life runs through Kafka: what was found, what is to be fetched and what came
    back are topics. It crawls from one process without a broker, or from as many as a Kafka cluster feeds.
    """
    context.obj = CliSettings(path, os.environ)
