"""`gregor audit`: whether the records of a crawl keep what the protocol promises."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gregor.cli.say import say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, configuration, json_option, opened, state_option
from gregor.errors import CheckFailed
from gregor.inspect.audit.finding import Finding
from gregor.inspect.audit.run import Places, audit
from gregor.operate.control_state import control_state
from gregor.operate.crawl_handle import FolderHandle
from workers.archiver.role import archive_folder


@click.command("audit", short_help="Prove or refute that nothing is lost or twice.")
@click.argument("place", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@bootstrap_option
@state_option("Folder of a frontier worker, whose state is compared too. [state.folder]")
@click.option(
    "--archive",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder of the WARC files.",
)
@click.option(
    "--tolerance-ms",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="By how much the clocks of fetchers may differ.",
)
@click.option(
    "--temporary",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder for what memory cannot hold.",
)
@json_option
@pass_settings
def audit_command(
    settings: CliSettings,
    place: Path | None,
    bootstrap: str | None,
    state: Path | None,
    archive: Path | None,
    tolerance_ms: int,
    temporary: Path | None,
    as_json: bool,
) -> None:
    """Read all records of a crawl, and say of every promise whether it was kept: each order made and answered once, each URL ordered
    once a visit, no server asked too early, each response archived once, states and counters true to the log.

    DIR is the folder of a crawl on this machine; without it, the crawl is that of the configuration. The crawl may be running. Memory
    stays below about 200 MiB whatever its size; the temporary folder takes about 100 bytes for each link and request. Ends with exit
    code 1 when a promise was broken.

    \b
    Examples:
      gregor audit docs
      gregor --config big.toml audit --state state/a --archive /data/archive
      gregor audit docs --json
    """
    settings = settings.with_state(state)
    with opened(settings, place, bootstrap) as handle:
        config, _ = configuration(settings, handle, control_state(handle.reader), bootstrap)
        if archive is None:
            home = handle.folder.parent if isinstance(handle, FolderHandle) else Path(config.state.folder)
            archive = archive_folder(config, home)
        places = Places(archive=archive if archive.is_dir() else None, sort_folder=temporary)
        findings = audit(handle.reader, config, handle.partitions, places, tolerance_ms)
    broken = [one.name for one in findings if not one.holds]
    if as_json:
        document = {"crawl": handle.crawl, "ok": not broken, "invariants": findings}
        say_json(document, indent=2)
    else:
        say_lines(_lines(findings))
    if broken:
        raise CheckFailed(f"{len(broken)} of {len(findings)} promises are broken: {', '.join(broken)}")


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    width = max(len(one.says) for one in findings)
    yield f"  {'':6}  {'':{width}}  {'checked':>12}  {'broken':>8}  {'unknown':>8}"
    for one in findings:
        verdict = "BROKEN" if one.failed else "kept" if one.checked else "-"
        yield f"  {verdict:6}  {one.says:{width}}  {one.checked:12,}  {one.failed:8,}  {one.unknown:8,}"
    for one in findings:
        if one.note:
            yield f"  {one.name}: {one.note}"
    for one in findings:
        for offender in one.offenders:
            yield f"  BROKEN {one.name}: {offender}"
        if one.failed > len(one.offenders):
            yield f"  BROKEN {one.name}: and {one.failed - len(one.offenders):,} more"
