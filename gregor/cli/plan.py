"""`gregor plan`: what a large crawl will take, before it is begun."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from msgspec.structs import fields

from gregor.cli.say import say, say_json, say_lines
from gregor.errors import UsageError
from gregor.plan import paper
from gregor.plan.page import page_of
from gregor.plan.planner import make_plan
from gregor.plan.profile import Profile, packaged, read_profile, write_profile
from gregor.plan.question import Question, require_sense
from gregor.plan.told import curve, document_of, lines_of, paper_curve, paper_lines

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS: Final[Mapping[str, tuple[Any, str]]] = {
    "pages": (float, "Pages to crawl, such as 30e9."),
    "days": (float, "Days that it may take."),
    "machines": (int, "Machines that there are; with --model paper, agents."),
    "cores": (int, "Cores of a machine."),
    "memory-gb": (float, "Memory of a machine."),
    "disk-gb": (float, "Disk of a machine."),
    "disk-mb-s": (float, "MB/s that the disks of a machine write."),
    "network-gbit": (float, "Gbit/s between the machines, of each."),
    "bandwidth": (float, "Mbit/s of the line to the Internet. 0: no limit."),
    "page-kb": (float, "KB of a page, decoded, on average."),
    "wire-kb": (float, "KB of a page on the wire. 0: as decoded."),
    "extract-factor": (float, "How many times as long as the profile's a page takes the extractor."),
    "servers": (int, "Servers that have the pages. 0: not known."),
    "delay": (float, "Seconds between two requests to a server."),
    "replication": (int, "Copies of each topic. 0: three, or as many as machines."),
    "retention-hours": (float, "Hours for which topics are kept."),
    "known": (float, "Known URLs for each page fetched."),
    "load": (float, "Share of the processors that is used."),
    "partitions": (int, "Partitions. 0: twice the workers of the largest role."),
    "workers": (int, "Workers of the largest role. 0: by its share of the processors."),
    "price": (float, "Of a machine for an hour."),
}


def _with_options(command: Command) -> Command:
    defaults = {field.name.replace("_", "-"): field.default for field in fields(Question)}
    for name, (kind, text) in reversed(list(_OPTIONS.items())):
        default = defaults[name]
        shown = f"{text} [{default:g}]" if default else text
        command = click.option(f"--{name}", type=kind, default=default, help=shown)(command)
    return command


@click.command("plan", short_help="Say what a large crawl will take.")
@_with_options
@click.option("--archive/--no-archive", default=True, help="Whether pages are kept as WARC.")
@click.option(
    "--model", type=click.Choice(["gregor", "paper"]), default="gregor", show_default=True, help="Whose cost model."
)
@click.option("--profile", type=click.Path(path_type=Path), metavar="FILE", help="A profile that --calibrate wrote.")
@click.option(
    "--calibrate", type=click.Path(path_type=Path), metavar="FILE", help="Measure this machine and write its profile."
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write the plan as a page with a drawing."
)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
def plan_command(
    model: str, profile: Path | None, calibrate: Path | None, html: Path | None, as_json: bool, **asked: Any
) -> None:
    """Say how many machines, workers, partitions, brokers and disks a crawl takes, for how long, for how much, what binds first, and what
    twice as many machines would change. Of --pages, --days and --machines give two; one alone is a crawl by one machine, or the pages
    of one day.

    It computes with a profile: what a page costs by role, measured on one machine. The one in the package says where;
    --calibrate FILE measures this machine with two short crawls on a broker (about a minute; needs Java and Maven).

    \b
    Examples:
      gregor plan --pages 30e9 --days 7
      gregor plan --pages 1e9 --machines 20 --bandwidth 10000 --servers 2000000 --price 0.4 --html plan.html
      gregor plan --calibrate here.json
      gregor plan --profile here.json --days 30 --machines 3
      gregor plan --model paper --pages 30e9 --machines 31
    """
    if calibrate is not None:
        _calibrate(calibrate, as_json)
        return
    question = Question(**asked)
    if model == "paper":
        _paper(question, html, as_json)
        return
    used = packaged() if profile is None else read_profile(profile)
    _ours(question, used, html, as_json)


def _ours(question: Question, profile: Profile, html: Path | None, as_json: bool) -> None:
    plan = make_plan(question, profile)
    lines = list(lines_of(plan, profile))
    if html is not None:
        here = (plan.machines, plan.speed.pages_per_s)
        _write(html, page_of(f"A crawl of {plan.pages:,.0f} pages", lines, curve(plan, profile), here, "machines"))
    if as_json:
        say_json(document_of(plan, profile))
    else:
        say_lines(lines)


def _paper(question: Question, html: Path | None, as_json: bool) -> None:
    if question.pages is None:
        raise UsageError("expected --pages for the paper's model, found none")
    require_sense(question)
    millions = question.pages / 1e6
    if millions < 1:
        raise UsageError(f"--pages: expected at least a million for the paper's model, found {question.pages:g}")
    agents = question.machines or _agents_for(question)
    if html is not None:
        here = (agents, paper.speed(agents, millions))
        title = f"{question.pages:,.0f} pages by the model of paper 004"
        lines = paper_lines(question.pages, agents, question.bandwidth)
        _write(html, page_of(title, lines, paper_curve(question.pages), here, "agents"))
    if as_json:
        say_json(
            {
                "type": "plan",
                "model": "paper",
                "agents": agents,
                "pages_per_s": paper.speed(agents, millions),
                "days": paper.seconds(question.pages, agents) / paper.DAY_S,
                "overhead": paper.overhead(agents, millions),
                "best_agents": paper.best_agents(millions),
                "most_agents": paper.most_agents(question.bandwidth) if question.bandwidth else None,
                "curve": paper_curve(question.pages),
            }
        )
    else:
        say_lines(paper_lines(question.pages, agents, question.bandwidth))


def _agents_for(question: Question) -> int:
    """The fewest that are in time; without a time as many as the line feeds, or the fastest number."""
    assert question.pages is not None
    best = paper.best_agents(question.pages / 1e6)
    if question.days is None:
        return max(1, min(best, paper.most_agents(question.bandwidth))) if question.bandwidth else best
    limit = question.days * paper.DAY_S
    return next((n for n in range(1, best + 1) if paper.seconds(question.pages, n) <= limit), best)


def _calibrate(path: Path, as_json: bool) -> None:
    from gregor.plan.calibrate import calibrate as measured

    if not path.parent.is_dir():
        raise UsageError(f"expected a folder for {path.name}, found none: {path.parent}", remedy="make it")
    found = measured(lambda line: None if as_json else say(line))
    write_profile(found, path)
    if as_json:
        say_json(found)
        return
    for role, cost in found.cpu_ms.items():
        say(f"  {role:12} {cost.at(22.3):7.3f} ms for a page of 22.3 KB, {cost.at(140):7.3f} ms for one of 140 KB")
    say(f"The profile is in {path}; `gregor plan --profile {path} --pages 1e9 --machines 10` uses it.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"expected to write {path}, found: {error.strerror}") from error
