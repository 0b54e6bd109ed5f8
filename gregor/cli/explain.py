"""`gregor explain`: the whole story of one URL, what was logged and what is worked out anew told apart."""

from collections.abc import Iterator
from pathlib import Path

import click

from gregor.cli.say import say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, configuration, folder_option, json_option, now_ms, opened, state_option
from gregor.errors import UsageError
from gregor.inspect.explain import ExplainRequest, Story, explain
from gregor.inspect.explain.checks import moment
from gregor.inspect.explain.story import Discovery, ResponseSeen, Result, SiteStory, UrlHistory
from gregor.operate.control_state import control_state
from gregor.operate.crawl_handle import CrawlHandle, FolderHandle
from streams.frontier.inspect import UrlStanding

_LABEL = 12


@click.command("explain", short_help="Tell the whole story of a URL.")
@click.argument("url")
@click.argument("place", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@folder_option
@bootstrap_option
@state_option("Folder of a frontier worker on this machine, whose state is asked too. [state.folder]")
@json_option
@pass_settings
def explain_command(
    settings: CliSettings,
    url: str,
    place: Path | None,
    folder: Path | None,
    bootstrap: str | None,
    state: Path | None,
    as_json: bool,
) -> None:
    """Tell everything that is known of URL: who linked to it first, how often it was found, verdicts, orders, results, where it is
    archived, what happens next and when. Of a URL that was never seen, why.

    DIR is the folder of a crawl on this machine, which may be running; without it, the crawl is that of the configuration. What
    stands under "logged" was committed by the crawl; what stands under "recomputed" is worked out now, from the configuration.

    \b
    Examples:
      gregor explain https://example.com/a docs
      gregor explain --json example.com/a docs
      gregor --config big.toml explain https://example.com/a --state state/a
    """
    if place is not None and folder is not None and place != folder:
        raise UsageError(f"expected one folder, found {place} and {folder}")
    settings = settings.with_state(state)
    with opened(settings, place or folder, bootstrap) as handle:
        known = control_state(handle.reader)
        config, source = configuration(settings, handle, known, bootstrap)
        asked = ExplainRequest(
            crawl=handle.crawl,
            where=handle.where,
            reader=handle.reader,
            held=known,
            config=config,
            source=source,
            archive=_archive(handle, config.archive.folder),
        )
        story = explain(asked, url, now_ms())
    if as_json:
        say_json(story, indent=2)
    else:
        say_lines(tell(story))


def _archive(handle: CrawlHandle, configured: str) -> Path | None:
    """Where the archive would be: named by the configuration, or beside the log."""
    places = [Path(configured)] if configured else []
    if isinstance(handle, FolderHandle):
        places += [handle.folder / "archive", handle.folder.parent / "archive"]
    return next((place for place in places if place.is_dir()), None)


def tell(story: Story) -> Iterator[str]:
    """The story as lines for people."""
    yield story.canonical or story.url
    if story.canonical:
        yield (
            f"  server {story.server}, partition {story.partition} of crawl {story.crawl} in {story.where}; "
            f"looked at {moment(story.now_ms)}"
        )
    if story.site is not None:
        yield from map("  {}".format, _site(story.site))
    yield ""
    yield "logged"
    yield from map("  {}".format, _logged(story.logged))
    if story.state is not None:
        yield from map("  {}".format, _state(story.state, story.now_ms))
    elif story.canonical:
        yield f"  {_line('state', f'told from the topics alone: partition {story.partition} is not in --state or state.folder')}"
    if story.paused:
        yield f"  {_line('paused', 'its ' + ' and its '.join(story.paused))}"
    yield ""
    same = {
        True: "the one that the crawl ran under",
        False: "NOT the one that the crawl last ran under",
        None: "the crawl has not run",
    }
    recomputed = story.recomputed
    yield f"recomputed (configuration {recomputed.config_version}, {recomputed.config_source}; {same[recomputed.same_config]})"
    marks = {True: "passes", False: "REFUSED", None: "unknown"}
    for check in recomputed.checks:
        yield f"  {check.about:<20} {marks[check.passes]:<8} {check.answer}"
    yield ""
    yield f"next ({story.next.origin})"
    when = f": {moment(story.next.when_ms)}" if story.next.when_ms else ""
    yield f"  {story.next.what}{when}"


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL}} {text}"


def _site(site: SiteStory) -> Iterator[str]:
    slot = f"slot {site.slot}" if site.slot >= 0 else "no slot"
    yield f"site {site.site}: {site.state}, {slot}, home {site.home}" + (
        f"; {site.links_waiting:,} links of it wait there" if site.links_waiting else ""
    )
    if site.state in ("unknown", "told"):
        return
    first = f"on {site.found_on}" if site.found_on else "as a seed, or by `gregor sites`"
    yield f"its site was found {moment(site.found_ms)} {first}"
    if site.by:
        why = f": {site.detail}" if site.detail else ""
        yield f"its site was changed {moment(site.changed_ms)} by {site.by}{why}"


def _logged(logged: UrlHistory) -> Iterator[str]:
    found = logged.discoveries
    if found.first is None:
        yield _line("found", "not in the records that are left" if logged.gaps else "never")
    else:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items())
        records = sum(found.kinds.values())
        yield _line(
            "found", f"{_times(found.times)} in {records:,} {'record' if records == 1 else 'records'} ({kinds})"
        )
        yield _line("first", _found(found.first))
        if found.last is not None and found.last.offset != found.first.offset:
            yield _line("last", _found(found.last))
    for verdict in logged.verdicts:
        about = "" if verdict.count == 1 else f", example of {verdict.count:,} URLs"
        detail = f": {verdict.detail}" if verdict.detail else ""
        yield _line(
            "verdict",
            f"{moment(verdict.decided_ms)} {verdict.kind} by {verdict.reason} ({verdict.stage}{about}){detail}",
        )
    if logged.server_verdicts:
        told = ", ".join(f"{count:,} {what}" for what, count in logged.server_verdicts.items())
        yield _line("its server", f"{told} in verdicts")
    yield from _more("ordered", logged.order_count, len(logged.orders))
    for order in logged.orders:
        yield _line(
            "ordered",
            f"{moment(order.created_ms)} in order {order.lease}, attempt {order.attempt}, visit {order.visit}, with {order.urls - 1} "
            f"other URLs {order.delay_ms / 1000:g} s apart",
        )
    yield from _more("result", logged.result_count, len(logged.results))
    by_lease = {response.lease: response for response in logged.responses}
    for result in logged.results:
        yield _line("result", _result(result))
        response = by_lease.get(result.lease)
        if response is not None:
            yield _line("archived", _response(response))
    if logged.robots_last is not None:
        yield _line("robots.txt", f"asked for {_times(logged.robots_asked)}, at last {_result(logged.robots_last)}")
    for topic, count in logged.gaps.items():
        yield _line("trimmed", f"{count:,} older records of {topic} are gone, and what they said of the URL with them")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _more(label: str, count: int, shown: int) -> Iterator[str]:
    if count > shown:
        yield _line(label, f"{_times(count)}; the last {shown} are shown")


def _found(found: Discovery) -> str:
    given = "given by the user" if found.kind == "seed" else "to the root page of its site"
    source = f"on {found.referrer}" if found.referrer else given
    return (
        f"{moment(found.found_ms)} as {found.kind} {source}; depth {found.depth}, {found.hops} hops from seed {found.seed}"
        + (f", {found.off_site} off-site" if found.off_site else "")
        + (f", {found.redirects} redirects" if found.redirects else "")
    )


def _result(result: Result) -> str:
    parts = [f"{moment(result.started_ms)} {result.outcome}"]
    if result.status:
        parts.append(f"status {result.status} in {result.total_ms:,} ms from {result.address or 'an unknown address'}")
        parts.append(f"{result.body_bytes:,} bytes of {result.content_type or 'no said type'}")
    if result.truncated:
        parts.append(f"cut off by {result.truncated}")
    if result.location:
        parts.append(f"to {result.location}")
    if result.detail:
        parts.append(result.detail)
    return ", ".join([*parts, f"order {result.lease}"])


def _response(response: ResponseSeen) -> str:
    if response.file and response.file_offset >= 0:
        return f"{response.file}, {response.length:,} bytes at {response.file_offset:,}"
    if response.file:
        return f"in {response.file}, which holds offset {response.offset} of pages"
    if response.offset >= 0:
        return f"not yet; offset {response.offset} of pages"
    return "not found: pages is trimmed here, and no archive at hand has it"


def _state(state: UrlStanding, now_ms: int) -> Iterator[str]:
    known = f", depth {state.depth}, priority {state.priority}" if state.life != "unknown" else ""
    yield _line("state", f"{state.life}{known}")
    if state.visited_ms:
        yield _line("visited", moment(state.visited_ms))
    if state.ahead >= 0:
        yield _line("queue", f"{state.ahead:,} URLs of its server before it")
    robots = ", ".join(f"{scheme} {verdict}" for scheme, verdict in state.robots.items()) or "not fetched"
    yield _line(
        "its server",
        f"{state.admitted:,} URLs admitted, {state.queued:,} queued, {state.in_flight} orders out; robots.txt: {robots}",
    )
    if state.server_next_ms > now_ms or state.failures:
        vain = f", after {_times(state.failures)} in vain" if state.failures else ""
        yield _line("its server", f"is not asked before {moment(state.server_next_ms)}{vain}")
    if state.dead_until_ms:
        yield _line("its server", f"given up after {state.failures} failures, until {moment(state.dead_until_ms)}")
