"""The options of `gregor crawl` and `gregor cluster`, and the settings that they stand for."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from gregor.config import Flag
from gregor.config.problems import printable
from gregor.config.rules import is_web_url
from gregor.errors import UsageError
from gregor.url.canonical import UNCAPPED_RULES, UrlRefusal, split

Command = TypeVar("Command", bound=Callable[..., Any])

URLS: Final = click.argument("urls", metavar="[URL]...", nargs=-1)
SEEDS: Final = click.option(
    "--seeds", "seed_file", metavar="FILE", help="More seeds, a URL a line; - reads standard input."
)
LIST: Final = click.option(
    "--list",
    "list_only",
    is_flag=True,
    help="Fetch the seeds alone and where they redirect to; follow no links and no sitemaps, also those that are seeds.",
)
RECRAWL: Final = click.option(
    "--recrawl", type=float, metavar="HOURS", help="Fetch every page again after so many hours."
)
WEB: Final = click.option(
    "--web",
    metavar="WEB",
    help="Crawl this instead of the network: a folder with WARC files, one of them, or generated:PAGES,SITES,SEED.",
)
JSON: Final = click.option(
    "--json", "as_json", is_flag=True, help="For programs: progress and the summary as lines of JSON."
)
DEMO: Final = click.option("--demo", is_flag=True, help="Crawl a site that gregor itself serves on loopback.")
DEMO_NAME: Final = "gregor-demo"
"""Name of a crawl of the bundled site."""

GOES_ON: Final = "The same command goes on where it stopped"
BEGINS_ANEW: Final = "The bundled site answers at another address next time, so that the same command begins anew"

OFFLINE_SETTINGS: Final[Mapping[str, Any]] = {
    "fetch.delay_s": 0.0,
    "fetch.delay_factor": 0.0,
    "retry.first_s": 0.0,
}
"""What --web sets unless other options do: nobody has to be spared, and an answer that is recorded does not change by waiting."""

LARGEST_LIST: Final = 256 * 1024 * 1024

_SETTINGS: Final[Mapping[str, tuple[str, Any, str]]] = {
    # Parameter to the setting's key, click's type and help; the option is called as the parameter is.
    "depth": ("crawl.max_depth", int, "Greatest depth of a page; a seed has depth 1. 0: no limit."),
    "pages": ("crawl.max_pages", int, "Stop after so many pages. 0: no limit."),
    "delay": ("fetch.delay_s", float, "Seconds between two requests to one server."),
    "connections": ("fetch.connections", int, "Connections open at once."),
    "scope": (
        "crawl.scope",
        click.Choice(["hosts", "domains", "any"]),
        "Follow links to the seeds' hosts, domains, or any.",
    ),
    "placement": (
        "partitions.placement",
        click.Choice(["hash", "sites"]),
        "Give a site to the partition of its hash, or let a coordinator place it.",
    ),
    "user-agent": ("crawl.user_agent", str, "Product name in the User-Agent header."),
    "contact": ("crawl.contact", str, "URL or mailto: where site owners learn who is crawling; public hosts need it."),
    "workers": ("crawl.processes", int, "Processes that read pages. 0: all in one process."),
    "name": ("crawl.name", str, "Name of the crawl."),
}


def output_of(whose: str, default: str) -> Callable[[Command], Command]:
    return click.option(
        "--output",
        "-o",
        type=click.Path(path_type=Path, readable=False),
        help=f"Folder of the {whose} and its results; the same folder goes on later. [{default}]",
    )


def with_settings(command: Command) -> Command:
    """Adds the options that set one setting each."""
    return _with_options(command, _SETTINGS)


def with_cluster_settings(command: Command) -> Command:
    """The same for a cluster, whose workers are counted by role."""
    return _with_options(command, [name for name in _SETTINGS if name != "workers"])


def _with_options(command: Command, names: Iterable[str]) -> Command:
    for name in reversed(list(names)):
        _, kind, help_text = _SETTINGS[name]
        command = click.option(f"--{name}", type=kind, help=help_text)(command)
    return command


def flags_of(chosen: Mapping[str, Any]) -> dict[str, Flag | None]:
    """The settings of the options that were given; ``chosen`` has click's parameter names."""
    flags: dict[str, Flag | None] = {}
    for name, (key, _, _) in _SETTINGS.items():
        value = chosen.get(name.replace("-", "_"))
        flags[key] = None if value is None else Flag(value, f"--{name}")
    if chosen["list_only"]:
        if chosen["depth"] is not None:
            raise UsageError("expected either --list or --depth, found both; --list follows no links at all")
        flags["crawl.follow_links"] = Flag(False, "--list")
    if chosen["recrawl"] is not None:
        flags["revisit.mode"] = Flag("fixed", "--recrawl")
        flags["revisit.interval_hours"] = Flag(chosen["recrawl"], "--recrawl")
    if chosen["web"] is not None:
        for key, value in {"fetch.backend": "archive", "emulate.web": chosen["web"], **OFFLINE_SETTINGS}.items():
            flags[key] = flags.get(key) or Flag(value, "--web")
    if not chosen["archive"]:
        flags["archive.enabled"] = Flag(False, "--no-archive")
    return flags


def seeds_of(given: tuple[str, ...], file: str | None) -> tuple[str, ...]:
    """The seeds on the command line and those of a file, a line each; empty lines and those with # are no seeds. One without a scheme
    is meant for https."""
    named = tuple(map(_with_scheme, given))
    if file is None:
        return named
    try:
        data = _standard_input() if file == "-" else _head(Path(file))
    except OSError as error:
        raise UsageError(f"expected a list of seeds in {file}, found: {error.strerror}") from error
    place = "standard input" if file == "-" else file
    # Some editors begin a file with a mark of its encoding.
    lines = enumerate(data.decode("utf-8-sig", "replace").splitlines(), start=1)
    listed = tuple(
        _listed(text, number, place) for number, line in lines if (text := line.strip()) and not text.startswith("#")
    )
    if not listed and not given:
        raise UsageError(f"expected seeds in {place}, a URL a line, found none")
    return named + listed


def _standard_input() -> bytes:
    """Python has none where whoever started us closed it."""
    return sys.stdin.buffer.read(LARGEST_LIST) if sys.stdin is not None else b""


def _with_scheme(seed: str) -> str:
    """As people type it: example.com is https://example.com. What is no URL with https either stays as it is, to be refused."""
    completed = f"https://{seed}"
    bare = "://" not in seed and not seed.lower().startswith(("http:", "https:"))
    return completed if bare and is_web_url(completed) else seed


def _listed(text: str, number: int, place: str) -> str:
    """A line of a list; one that is no seed is named by its number."""
    seed = _with_scheme(text)
    url = split(seed, UNCAPPED_RULES)
    if not is_web_url(seed) or isinstance(url, UrlRefusal):
        shown = printable(text)
        raise UsageError(f'expected a seed such as https://example.com/ in line {number} of {place}, found "{shown}"')
    return seed


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_LIST)
