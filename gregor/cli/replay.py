"""`gregor replay`: the frontier made again from its topics, and compared with the crawl's own."""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from gregor.cli.moments import offsets_at
from gregor.cli.say import say, say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, folder_option, json_option, opened
from gregor.cli.what_if import judged_by
from gregor.errors import CheckFailed, UsageError
from gregor.inspect.replay.outcome import Outcome
from gregor.inspect.replay.plan import INPUTS
from gregor.inspect.replay.run import ReplayRequest, replay
from gregor.operate.control_state import control_state
from gregor.operate.crawl_handle import CrawlHandle

REPORT = "replay.json"


@click.command("replay", short_help="Make the frontier again from its topics; compare.")
@click.argument("output", type=click.Path(path_type=Path))
@folder_option
@bootstrap_option
@click.option("--config", "file", type=click.Path(path_type=Path), help="Decide by this file instead.")
@click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Decide with this setting changed; repeatable."
)
@click.option("--since", metavar="TIME", help="Begin there: 2026-11-16, or 2026-11-16T15:41:00Z.")
@click.option("--until", metavar="TIME", help="End there.")
@click.option("--from", "starts", multiple=True, metavar="TOPIC:PARTITION:OFFSET", help="Begin there; repeatable.")
@click.option("--to", "stops", multiple=True, metavar="TOPIC:PARTITION:OFFSET", help="End there; repeatable.")
@click.option("--partition", "partitions", type=int, multiple=True, help="Only this one; repeatable.")
@click.option("--show", type=click.IntRange(0, 10_000), default=10, show_default=True, help="URLs of each difference.")
@json_option
@pass_settings
def replay_command(
    settings: CliSettings,
    output: Path,
    folder: Path | None,
    bootstrap: str | None,
    file: Path | None,
    changes: tuple[str, ...],
    since: str | None,
    until: str | None,
    starts: tuple[str, ...],
    stops: tuple[str, ...],
    partitions: tuple[int, ...],
    show: int,
    as_json: bool,
) -> None:
    """Feed the crawl's records to a new frontier, whose state goes into the new folder OUTPUT, and compare it with the crawl's own:
    which URLs were admitted and refused, and what became of them. With another configuration, what it would have decided.

    Nothing is written to a topic and no group is joined; the crawl may be running. Without a beginning the whole crawl is replayed. A
    beginning is moved back to the last checkpoint of the crawl before it, from whose state the replay goes on, if the changelog
    reaches so far. What was trimmed is named, and what cannot be judged without it is counted apart.

    Under the crawl's own configuration the exit code is 1 when the two differ. docs/replay.md says what can be compared. To throw a
    worker's state away and restore it from the changelog is `gregor rebuild`; to check all promises of the log `gregor audit`; new
    item rules on old pages `gregor reextract`.

    \b
    Examples:
      gregor replay again --folder docs
      gregor replay strict --folder docs --set 'scope.exclude=["/calendar/"]'
      gregor --config big.toml replay today --since 2026-11-16 --config other.toml
      gregor --config big.toml replay part --partition 3 --to fetched:3:1200 --json
    """
    with opened(settings, folder, bootstrap) as handle:
        known = control_state(handle.reader)
        config, source = judged_by(settings, handle, known, bootstrap, file, changes)
        asked = ReplayRequest(
            crawl=handle.crawl,
            reader=handle.reader,
            config=config,
            other=bool(file or changes) or (known.config is not None and known.config.version != config.config_version),
            widened=sorted(known.widened),
            partitions=_partitions(handle, partitions),
            since=offsets_at(handle.reader, INPUTS, since, starts),
            until=offsets_at(handle.reader, INPUTS, until, stops),
            show=show,
        )
        say(f"replaying {handle.crawl} of {handle.where} into {output}; configuration {source}", err=True)
        found = replay(asked, output, lambda line: say(line, err=True))
    (output / REPORT).write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))
    if as_json:
        say_json(found, indent=2)
    else:
        say_lines(_lines(found))
    if found.differs and found.same_config:
        raise CheckFailed(f"the replay differs from the crawl; {output / REPORT} has all of it")


def _partitions(handle: CrawlHandle, named: tuple[int, ...]) -> list[int]:
    for one in named:
        if not 0 <= one < handle.partitions:
            raise UsageError(f"expected a partition of 0 to {handle.partitions - 1}, found {one}")
    return sorted(set(named)) or list(range(handle.partitions))


def _lines(found: Outcome) -> Iterator[str]:
    steps = f"{found.exact:,} of {found.partitions:,} partitions step by step, the others by the times of their records"
    yield f"{found.records:,} records; {steps}"
    if found.checkpoints:
        yield f"{found.checkpoints - found.disagreeing:,} of {found.checkpoints:,} checkpoints agree"
    yield ""
    names = sorted(found.then.keys() | found.now.keys())
    width = max([len(name) for name in names], default=0)
    yield f"  {'':{width}}  {'then':>14}  {'now':>14}  {'difference':>14}"
    for name in names:
        then, now = found.then.get(name, 0), found.now.get(name, 0)
        yield f"  {name:{width}}  {then:14,}  {now:14,}  {f'{now - then:+,}' if now != then else '':>14}"
    for one in found.differences:
        yield ""
        mark = "" if one.judged else ", which the missing records may explain"
        yield f"  {one.urls:,} URLs were {one.then} then and are {one.now} now{mark}"
        yield from (f"    {url}" for url in one.first)
        if one.urls > len(one.first):
            yield f"    and {one.urls - len(one.first):,} more"
    yield ""
    if found.absent:
        yield f"  {found.absent:,} URLs that were ordered then are not queued now"
    yield from (f"  {note}" for note in found.notes)
    yield f"{found.verdict}" if found.same_config else f"{found.verdict}, under another configuration"
