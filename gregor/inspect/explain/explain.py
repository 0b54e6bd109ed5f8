"""The story put together."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gregor.config import Config
from gregor.inspect.explain.archived import responses
from gregor.inspect.explain.checks import Evidence, canonical_check, judge
from gregor.inspect.explain.history import gather
from gregor.inspect.explain.next_step import next_step
from gregor.inspect.explain.site import next_by_site, site_story
from gregor.inspect.explain.story import Next, Recomputed, Story
from gregor.operate.control_state import ControlState
from gregor.operate.site_table import whereabouts
from gregor.rules.answer import UrlAnswer
from gregor.rules.canonical import canonical_url, rules_of
from gregor.run.topology import FRONTIER
from gregor.runtime.transport.port import LogReader
from gregor.url.canonical import Url
from streams.frontier.inspect import PartitionView

_PORT: Final = re.compile(r"[^:/?#]+:\d+(?:[/?#]|$)")
_FRONTIER: Final = FRONTIER.spec


class ExplainRequest(Struct, frozen=True, kw_only=True):
    """What stories are told from: a crawl, and the configuration to judge by."""

    crawl: str
    where: str
    """Folder or brokers, for people."""
    reader: LogReader
    held: ControlState
    config: Config
    source: str
    """Where the configuration comes from, for people."""
    archive: Path | None = None
    """Folder of the archive; None: it is not on this machine."""


def explain(asked: ExplainRequest, given: str, now_ms: int) -> Story:
    """Everything that is known of a URL; a text that is none has a story too, of one sentence."""
    url = canonical_url(_absolute(given), rules_of(asked.config.url))
    canonical = canonical_check(given, url)
    story = Story(
        url=given,
        crawl=asked.crawl,
        where=asked.where,
        now_ms=now_ms,
        recomputed=Recomputed(
            config_version=asked.config.config_version,
            config_source=asked.source,
            same_config=_same_config(asked),
            checks=[canonical],
        ),
        next=Next(what=f"nothing: {canonical.answer}", origin="recomputed"),
    )
    return story if isinstance(url, UrlAnswer) else _told(asked, url, story)


def _absolute(given: str) -> str:
    """What is typed without a scheme is meant for https, as seeds are; "example.com:8080/a" has none, "mailto:a" has."""
    bare = "://" not in given and (":" not in given.partition("/")[0] or _PORT.match(given) is not None)
    return f"https://{given}" if bare else given


def _told(asked: ExplainRequest, url: Url, story: Story) -> Story:
    config, reader = asked.config, asked.reader
    where = whereabouts(reader, config, url.server)
    gathered = gather(reader, url, where)
    results = gathered.logged.results
    logged = replace(gathered.logged, responses=responses(reader, asked.archive, url, where.home, results))
    view = _view(reader, where.slot)
    standing = view.standing(url) if view is not None else None
    site = site_story(where, _view(reader, where.home)) if config.partitions.placement == "sites" else None
    evidence = Evidence(
        config=config,
        held=asked.held,
        first=logged.discoveries.first,
        view=view,
        standing=standing,
        robots=gathered.robots,
        robots_last=logged.robots_last,
        spent=sum(_spent(reader, config)),
        now_ms=story.now_ms,
        site=site,
    )
    recomputed = replace(story.recomputed, checks=[*story.recomputed.checks, *judge(url, evidence)])
    paused = [*(["crawl"] if asked.held.crawl else []), *(["server"] if url.server in asked.held.servers else [])]
    return replace(
        story,
        canonical=url.text,
        server=url.server,
        partition=where.slot,
        site=site,
        logged=logged,
        state=standing,
        paused=paused,
        recomputed=recomputed,
        next=next_step(logged, standing, recomputed, paused, config)
        if site is None
        else next_by_site(site, lambda: next_step(logged, standing, recomputed, paused, config)),
    )


def _view(reader: LogReader, partition: int) -> PartitionView | None:
    state = reader.state(_FRONTIER, partition)
    return PartitionView(state) if state is not None else None


def _same_config(asked: ExplainRequest) -> bool | None:
    for partition in range(asked.config.partitions.partitions):
        last = asked.reader.last_checkpoint(_FRONTIER.name, partition)
        if last is not None and last.config_version:
            return last.config_version == asked.config.config_version
    return None


def _spent(reader: LogReader, config: Config) -> Iterator[int]:
    for partition in range(config.partitions.partitions):
        last = reader.last_checkpoint(_FRONTIER.name, partition)
        if last is not None:
            yield last.counters.get("leased", 0) + last.counters.get("confirmed", 0)
