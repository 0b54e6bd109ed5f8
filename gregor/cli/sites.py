"""`gregor sites`: the sites of a crawl whose coordinator places them: list and filter them, look at one, decide which are crawled."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click
from msgspec.structs import asdict, replace

from gregor.cli.say import say, say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.sites_files import export_command, import_command
from gregor.cli.sites_target import SiteCrawl, told, with_sites
from gregor.cli.status import table
from gregor.cli.target import bootstrap_option, folder_option, json_option, now_ms, user
from gregor.errors import UsageError
from gregor.inspect.explain.checks import moment
from gregor.operate.site_table import SiteTable, rows_of
from gregor.operate.sites import (
    MOST,
    Who,
    checked_slots,
    checked_tags,
    letters,
    require_known,
    site_named,
    slots_command,
)
from schemas.sites import Site, SiteState
from schemas.sites_found import SiteAction, SiteSetting

STATES: Final[tuple[SiteState, ...]] = ("found", "waiting", "placed", "blocked", "unresolvable")
COUNT = click.IntRange(0, MOST)
MEANINGS: Final[dict[SiteState, str]] = {
    "found": "its name is being resolved; links to it are kept",
    "waiting": "for somebody to approve it (`gregor sites approve`); links to it are kept, up to sites.waiting_links",
    "placed": "it is crawled by its slot",
    "blocked": "nothing of it is crawled (`gregor sites approve` lets it be crawled again)",
    "unresolvable": "its name has no address; it is asked for again later",
}


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return folder_option(bootstrap_option(command))


why_option = click.option("--why", default="", metavar="TEXT", help="A word for who wonders later.")


@click.group("sites", short_help="List, approve, block or import sites.", invoke_without_command=True)
@target_options
@json_option
@click.option("--state", type=click.Choice(STATES), multiple=True, help="Only sites in this state; may be repeated.")
@click.option("--tag", multiple=True, metavar="TAG", help="Only sites that have this tag; repeated: all of them.")
@click.option("--slot", type=click.IntRange(0), metavar="N", help="Only sites of this slot.")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="Sites to list, by name.")
@click.pass_context
def sites(
    context: click.Context,
    folder: Path | None,
    bootstrap: str | None,
    as_json: bool,
    state: tuple[str, ...],
    tag: tuple[str, ...],
    slot: int | None,
    limit: int,
) -> None:
    """List the sites of a crawl with partitions.placement = "sites", and decide which of them are crawled.

    A site is a server, or a registered domain with partitions.partition_by = "domain". It is

    \b
      found          its name is being resolved
      waiting        for somebody to approve it (sites.admit = "approved")
      placed         crawled, by the partition of the frontier that is its slot
      blocked        not crawled: somebody said so
      unresolvable   its name has no address; it is asked for again later

    What is decided is written to the topic sites-found with who and when, and the coordinator obeys it: within moments while it runs,
    otherwise when it does. `export` gives all sites as CSV; `import` takes them back after somebody has edited them.

    \b
    Examples:
      gregor sites --folder docs                         the first hundred
      gregor sites --state waiting --folder docs         those to be approved
      gregor sites show example.com --folder docs
      gregor sites approve example.com --folder docs
      gregor sites block spam.example --why "link farm" --folder docs
      gregor --config big.toml sites budget example.com 500 --depth 4
      gregor sites export sites.csv --folder docs
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(CliSettings), folder, bootstrap, _Filter(state, tag, slot), limit, as_json)
    elif any(value for value in (folder, bootstrap, as_json, state, tag, slot is not None)):
        raise UsageError(f"expected options behind {context.invoked_subcommand}, found some before it")


class _Filter:
    def __init__(self, states: tuple[str, ...], tags: tuple[str, ...], slot: int | None) -> None:
        self._states = states
        self._tags = frozenset(tags)
        self.slot = slot

    def __call__(self, row: Site) -> bool:
        return (
            (not self._states or row.state in self._states)
            and self._tags <= frozenset(row.tags)
            and (self.slot is None or row.slot == self.slot)
        )


def _list(
    settings: CliSettings, folder: Path | None, bootstrap: str | None, wanted: _Filter, limit: int, as_json: bool
) -> None:
    with with_sites(settings, folder, bootstrap) as crawl:
        if wanted.slot is not None and wanted.slot >= crawl.partitions:
            raise UsageError(f"expected a slot below {crawl.partitions}, found {wanted.slot}")
        with SiteTable(crawl.reader) as known:
            chosen = filter(wanted, known.rows())
            shown = list(islice(chosen, limit))
            states = Counter(row.state for row in shown)
            left = 0
            for row in chosen:
                states[row.state] += 1
                left += 1
            unreadable = known.unreadable
    if as_json:
        say_json(
            {"sites": list(map(asdict, shown)), "more": left, "states": dict(states), "unreadable": unreadable},
            indent=2,
        )
        return
    if shown:
        say_lines(table([("site", "state", "slot", "budget", "depth", "tags"), *map(_cells, shown)]))
    if left:
        say(f"and {left:,} more; --limit shows them, `gregor sites export` gives all")
    if unreadable:
        say(f"{unreadable:,} records of sites are none of ours and were passed over")
    counted = ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state])
    say(f"{sum(states.values()):,} sites: {counted}" if states else "no sites")


def _cells(row: Site) -> tuple[str, str, str, str, str, str]:
    slot = str(row.slot) if row.slot >= 0 else "-"
    return row.site, row.state, slot, f"{row.budget or '-'}", f"{row.max_depth or '-'}", " ".join(row.tags)


@sites.command(short_help="Tell all that is known of one site.")
@click.argument("site")
@target_options
@json_option
@pass_settings
def show(settings: CliSettings, site: str, folder: Path | None, bootstrap: str | None, as_json: bool) -> None:
    """Tell all that is known of SITE: its state and what that means, its slot, who found it first, its settings, who changed it last.

    \b
    Examples:
      gregor sites show example.com --folder docs
      gregor sites show https://example.com/a/page --json --folder docs
    """
    with with_sites(settings, folder, bootstrap) as crawl:
        name = site_named(site, crawl.partition_by).site
        require_known(crawl.reader, [name])
        row = rows_of(crawl.reader, [name]).get(name)
    if as_json:
        say_json(asdict(row) if row is not None else {"site": name, "state": "told"}, indent=2)
    elif row is None:
        say(f"{name}: told to the coordinator, which has not answered yet")
    else:
        say_lines(_shown(row, crawl))


def _shown(row: Site, crawl: SiteCrawl) -> Iterator[str]:
    def line(label: str, text: str) -> str:
        return f"  {label:<12} {text}"

    yield row.site
    yield line("state", f"{row.state}: {MEANINGS[row.state]}")
    if row.detail:
        yield line("why", row.detail)
    at = f"partition {row.slot} of the frontier" if row.slot >= 0 else "none yet"
    yield line("slot", f"{at}; its home, by its hash, is partition {crawl.home(row.site)}")
    by = f"on {row.found_on}" if row.found_on else "given by somebody: a seed, or `gregor sites`"
    yield line("found", f"{moment(row.found_ms)} {by}; {row.rank:,} sites came before it")
    yield line("budget", f"{row.budget:,} pages" if row.budget else "as configured (crawl.server_budget)")
    yield line("max_depth", f"{row.max_depth:,}" if row.max_depth else "as configured (crawl.max_depth)")
    yield line("tags", ", ".join(row.tags) or "none")
    yield line("changed", f"{moment(row.changed_ms)} by {row.by or 'the crawl itself'}, version {row.version}")


@sites.command(short_help="Let sites be crawled.")
@click.argument("names", metavar="[SITE]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every site that waits now.")
@why_option
@target_options
@pass_settings
def approve(
    settings: CliSettings,
    names: tuple[str, ...],
    everything: bool,
    why: str,
    folder: Path | None,
    bootstrap: str | None,
) -> None:
    """Let each SITE be crawled: one that waits for it, or one that was blocked. Links that were kept for it are taken in.

    \b
    Examples:
      gregor sites approve example.com example.org --folder docs
      gregor sites approve --all --folder docs
    """
    if bool(names) == everything:
        raise UsageError("expected sites, or --all for every one that waits")
    with with_sites(settings, folder, bootstrap) as crawl:
        if names:
            _decide(crawl, "approve", names, why)
            return
        with SiteTable(crawl.reader) as known:
            waiting = [SiteSetting(site=row.site) for row in known.rows() if row.state == "waiting"]
        if not waiting:
            say("no site waits")
            return
        _send(crawl, "approve", waiting, why)


@sites.command(short_help="Let nothing more of sites be crawled.")
@click.argument("names", metavar="SITE...", nargs=-1, required=True)
@why_option
@target_options
@pass_settings
def block(settings: CliSettings, names: tuple[str, ...], why: str, folder: Path | None, bootstrap: str | None) -> None:
    """Let nothing more of each SITE be crawled. What is queued leaves with verdicts, links that are found are refused; what is being
    fetched is finished. `gregor sites approve` ends it: what is found from then on is crawled.

    \b
    Example:
      gregor sites block spam.example --why "link farm" --folder docs
    """
    with with_sites(settings, folder, bootstrap) as crawl:
        _decide(crawl, "block", names, why)


@sites.command(short_help="Make sites known that nobody has met.")
@click.argument("names", metavar="SITE...", nargs=-1, required=True)
@target_options
@pass_settings
def add(settings: CliSettings, names: tuple[str, ...], folder: Path | None, bootstrap: str | None) -> None:
    """Make each SITE known, as if a link to it had been found; its root page is fetched if sites.root_page says so. The scope of the
    crawl holds for it as for any other. Many at once come by `gregor sites import`.

    \b
    Examples:
      gregor sites add example.com --folder docs
      gregor sites add http://127.0.0.1:8080/ --folder docs     its root page is not https
    """
    with with_sites(settings, folder, bootstrap) as crawl:
        _send(crawl, "add", [site_named(name, crawl.partition_by) for name in dict.fromkeys(names)])


@sites.command(short_help="Set how many pages of a site are fetched.")
@click.argument("site")
@click.argument("pages", metavar="N", type=COUNT)
@click.option("--depth", type=COUNT, metavar="D", help="Greatest depth of its pages; 0: as configured.")
@target_options
@pass_settings
def budget(
    settings: CliSettings, site: str, pages: int, depth: int | None, folder: Path | None, bootstrap: str | None
) -> None:
    """Let at most N pages of SITE be crawled; 0: as many as the configuration says. What is queued already stays.

    \b
    Examples:
      gregor sites budget example.com 500 --folder docs
      gregor sites budget example.com 500 --depth 4 --folder docs
      gregor sites budget example.com 0 --folder docs
    """
    with with_sites(settings, folder, bootstrap) as crawl:
        name = site_named(site, crawl.partition_by)
        require_known(crawl.reader, [name.site])
        _send(crawl, "set", [replace(name, budget=pages, max_depth=depth)])


@sites.command(short_help="Give a site tags.")
@click.argument("site")
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@target_options
@pass_settings
def tag(settings: CliSettings, site: str, tags: tuple[str, ...], folder: Path | None, bootstrap: str | None) -> None:
    """Give SITE these tags in place of those that it has; without a TAG it has none.

    \b
    Examples:
      gregor sites tag example.com news german --folder docs
      gregor sites --tag news --folder docs
    """
    with with_sites(settings, folder, bootstrap) as crawl:
        name = site_named(site, crawl.partition_by)
        given = checked_tags(tags)
        require_known(crawl.reader, [name.site])
        _send(crawl, "set", [replace(name, tags=given)])


@sites.command(short_help="Set how many partitions new sites go to.")
@click.argument("slots", metavar="N", type=click.IntRange(0))
@target_options
@pass_settings
def slots(settings: CliSettings, slots: int, folder: Path | None, bootstrap: str | None) -> None:
    """Let new sites go to the first N partitions of the frontier; 0: to all. Sites that have a slot keep it.

    \b
    Example:
      gregor --config big.toml sites slots 32
    """
    with with_sites(settings, folder, bootstrap) as crawl:
        checked_slots(slots, crawl.partitions)
        said = crawl.handle.send(slots_command(slots, Who(user(), now_ms())))
        say(f"slots {slots or crawl.partitions} of {crawl.partitions} partitions: {said}")
        told(crawl)


sites.add_command(import_command)
sites.add_command(export_command)


def _decide(crawl: SiteCrawl, action: SiteAction, names: tuple[str, ...], why: str) -> None:
    """Of sites that are named; all are looked up before anything is written."""
    chosen = [SiteSetting(site=site_named(name, crawl.partition_by).site) for name in dict.fromkeys(names)]
    require_known(crawl.reader, [one.site for one in chosen])
    _send(crawl, action, chosen, why)


def _send(crawl: SiteCrawl, action: SiteAction, chosen: list[SiteSetting], why: str = "") -> None:
    said = ""
    for letter in letters(action, chosen, Who(user(), now_ms(), why)):
        said = crawl.handle.send(letter)
    what = chosen[0].site if len(chosen) == 1 else f"{len(chosen):,} sites"
    say(f"{action} {what}: {said}")
    told(crawl)
