"""report.html: one file that needs nothing beside it, made from the summary alone.

URLs, types and server names are what strangers wrote. They are escaped, never links, and the page's own policy lets nothing run or
load but the style and the script below, which it names by their digests.
"""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Final

from gregor.outputs.report import figures
from gregor.outputs.report.chart import timeline_chart
from gregor.outputs.report.meanings import REASONS, STATUSES
from gregor.outputs.report.parts import (
    Bar,
    Cell,
    bars,
    counted,
    keyed,
    section,
    share,
    status_colour,
    table,
    text,
    tile,
)
from gregor.outputs.report.summary import ServerLine, Summary

_MOST_BARS: Final = 12
_MOST_ROWS: Final = 100
_MOST_DEEP: Final = 10
_STATES: Final = {
    "done": "The crawl is done.",
    "waiting": "Nothing is left to do but visits that are due later.",
    "unfinished": "The crawl is not finished: the same command goes on where it stopped.",
}


def report_html(summary: Summary) -> str:
    style, script = _resource("report.css"), _resource("report.js")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    body = "\n".join(
        (
            _header(summary),
            _tiles(summary),
            "<main>",
            section(
                "Requests over time",
                timeline_chart(summary.timeline),
                "a second, by the time they were over",
                wide=True,
            ),
            section("Status codes", _statuses(summary)),
            section("Types", _types(summary), "of answers with 2xx"),
            section("Not fetched, and why", _refusals(summary), wide=True),
            section("Slowest servers", _slowest(summary), "time within which 95 of 100 requests ended"),
            section("Deepest URLs", _deepest(summary), "by depth; a seed has depth 1"),
            section("Servers", _servers(summary), _servers_note(summary), wide=True),
            "</main>",
            _footer(summary),
        )
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        '<meta name="robots" content="noindex">\n'
        f"<title>{text(summary.crawl)}: crawl report</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _header(summary: Summary) -> str:
    when = (
        f"{figures.moment(summary.first_ms)} to {figures.moment(summary.last_ms)}"
        if summary.first_ms
        else "no request yet"
    )
    until = f" Nothing is due before {figures.moment(summary.waiting_until_ms)}." if summary.waiting_until_ms else ""
    partial = "" if summary.complete else " Older records were trimmed: figures from the log tell of the rest alone."
    return (
        f'<header><p class="kicker">Crawl report</p><h1>{text(summary.crawl)}</h1><p><span class="state {summary.state}">'
        f"{keyed('state', summary.state, summary.state)}</span> {_STATES[summary.state]}{until}{partial}</p><p>{when}</p></header>"
    )


def _tiles(summary: Summary) -> str:
    urls, links = summary.urls, summary.links
    errors = summary.requests - sum(
        summary.outcomes.get(name, 0) for name in ("ok", "not-modified", "redirect", "type-refused")
    )
    waiting = (
        f"{keyed('urls.waiting', urls.waiting, figures.large(urls.waiting))} are waiting"
        if urls.waiting
        else "none is waiting"
    )
    tiles = (
        tile("URLs fetched", keyed("urls.fetched", urls.fetched, figures.large(urls.fetched)), waiting),
        tile(
            "Rate",
            f"{keyed('pages_per_s', summary.pages_per_s, figures.rate(summary.pages_per_s))}<i>/s</i>",
            f"over {keyed('duration_s', summary.duration_s, figures.span(summary.duration_s))}",
        ),
        tile(
            "Requests",
            keyed("requests", summary.requests, figures.large(summary.requests)),
            f"{keyed('pages', summary.pages, figures.large(summary.pages))} pages, {figures.large(errors)} errors",
        ),
        tile(
            "Received",
            keyed("wire_bytes", summary.wire_bytes, figures.size(summary.wire_bytes)),
            f"{keyed('body_bytes', summary.body_bytes, figures.size(summary.body_bytes))} unpacked",
        ),
        tile(
            "Links judged",
            keyed("links.found", links.found, figures.large(links.found)),
            f"{keyed('links.new', links.new, figures.large(links.new))} new",
        ),
        tile(
            "Servers",
            keyed("server_count", summary.server_count, figures.large(summary.server_count)),
            f"half answered within {keyed('times_ms.p50', summary.times_ms.p50, figures.milliseconds(summary.times_ms.p50))}",
        ),
        tile(
            "Archive",
            keyed("archive.bytes", summary.archive.bytes, figures.size(summary.archive.bytes)),
            f"{keyed('archive.files', summary.archive.files, figures.large(summary.archive.files))} WARC files",
        ),
    )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _statuses(summary: Summary) -> str:
    lines = [
        Bar(
            f"<b>{text(status)}</b> {STATUSES.get(status, '')}",
            count,
            counted(f"statuses.{status}", count, summary.requests),
            status_colour(status),
        )
        for status, count in sorted(summary.statuses.items(), key=lambda entry: (-entry[1], entry[0]))[:_MOST_BARS]
    ]
    return bars(lines, "No request was made.")


def _types(summary: Summary) -> str:
    lines = [
        Bar(text(name), count, counted(f"types.{name}", count, summary.pages))
        for name, count in list(summary.types.items())[:_MOST_BARS]
    ]
    return bars(lines, "No page was fetched.")


def _refusals(summary: Summary) -> str:
    lines = [
        Bar(
            f"<b>{text(line.reason)}</b> {REASONS.get(line.reason, '')}",
            line.count,
            keyed(f"refusals.{line.stage}.{line.kind}.{line.reason}", line.count, figures.whole(line.count)),
            "bad" if line.kind == "given-up" else "warn",
            f"{text(line.kind)} by the {text(line.stage)}"
            + (f", such as <code>{text(line.example)}</code>" if line.example else ""),
        )
        for line in summary.refusals[:_MOST_BARS]
    ]
    rest = summary.refusals[_MOST_BARS:]
    more = (
        f'<p class="empty">{len(rest)} more reasons with {sum(line.count for line in rest):,} URLs</p>' if rest else ""
    )
    return bars(lines, "Nothing was refused.") + more


def _slowest(summary: Summary) -> str:
    lines = [
        Bar(
            f"<code>{text(line.server)}</code>",
            line.times_ms.p95,
            figures.milliseconds(line.times_ms.p95),
            "warn" if line.times_ms.p95 >= 1000 else "accent",
            f"{line.requests:,} requests, {figures.milliseconds(line.times_ms.mean)} on average",
        )
        for line in summary.slowest
    ]
    return bars(lines, "No server was asked three times.")


def _deepest(summary: Summary) -> str:
    lines = "".join(
        f"<li><b>{line.depth}</b><code>{text(line.url)}</code></li>" for line in summary.deepest[:_MOST_DEEP]
    )
    return f'<ol class="deep">{lines}</ol>' if lines else '<p class="empty">No page was fetched.</p>'


def _servers_note(summary: Summary) -> str:
    shown = len(summary.servers[:_MOST_ROWS])
    return "" if shown == len(summary.servers) else f"the {shown} largest; summary.json has {len(summary.servers)}"


def _servers(summary: Summary) -> str:
    heads = (
        "Server",
        "Requests",
        "Pages",
        "Answers",
        "Errors",
        "Refused",
        "Received",
        "Mean",
        "95%",
        "Depth",
        "robots.txt",
    )
    return table(heads, [_row(line) for line in summary.servers[:_MOST_ROWS]])


def _row(line: ServerLine) -> tuple[Cell, ...]:
    name = f"<code>{text(line.server, 60)}</code>" if line.server else f"{line.servers:,} others"
    errors, refused = sum(line.errors.values()), sum(line.refused.values())
    robots = text(line.robots) + (f" <em>delay {line.crawl_delay_s:g} s</em>" if line.crawl_delay_s else "")
    return (
        Cell(name, line.server),
        Cell(keyed(f"servers.{line.server}.requests", line.requests, figures.whole(line.requests)), line.requests),
        Cell(figures.whole(line.pages), line.pages),
        Cell(_answers(line), line.pages / line.requests if line.requests else 0),
        Cell(f'<span title="{text(_told(line.errors))}">{errors:,}</span>', errors),
        Cell(f'<span title="{text(_told(line.refused))}">{refused:,}</span>', refused),
        Cell(figures.size(line.wire_bytes), line.wire_bytes),
        Cell(figures.milliseconds(line.times_ms.mean), line.times_ms.mean),
        Cell(figures.milliseconds(line.times_ms.p95), line.times_ms.p95),
        Cell(f"{line.depth}", line.depth),
        Cell(robots, line.robots),
    )


def _answers(line: ServerLine) -> str:
    """One bar of all answers by their class."""
    parts = "".join(
        f'<i class="{status_colour(name)}" style="width:{count / line.requests * 100:.2f}%"></i>'
        for name, count in line.statuses.items()
        if line.requests
    )
    told = ", ".join(f"{name} {share(count, line.requests)}" for name, count in line.statuses.items())
    return f'<span class="track mix" title="{text(told)}">{parts}</span>'


def _told(counts: object) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) if isinstance(counts, dict) else ""


def _footer(summary: Summary) -> str:
    unreadable = f" {summary.unreadable:,} records could not be read." if summary.unreadable else ""
    return (
        f"<footer>Made {figures.moment(summary.made_ms)} from the crawl's log; the same figures are in "
        f"<code>summary.json</code>.{unreadable} <code>gregor report</code> makes both again.</footer>"
    )


def _resource(name: str) -> str:
    return files("gregor.outputs.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
