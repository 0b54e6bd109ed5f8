"""The story put together."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gregor.config import Config
from gregor.pipeline.explain.archived import responses
from gregor.pipeline.explain.judged import Evidence, canonical_check, judge
from gregor.pipeline.explain.logged import gather
from gregor.pipeline.explain.outlook import outlook
from gregor.pipeline.explain.standing import examine
from gregor.pipeline.explain.story import Next, Recomputed, Story
from gregor.pipeline.extracting import placement_of
from gregor.pipeline.operate.pauses import Held
from gregor.pipeline.stages import ROLES
from gregor.transport.port import LogReader
from gregor.url.canonical import Refusal, Url, split
from gregor.url.rules import rules_of

_PORT: Final = re.compile(r"[^:/?#]+:\d+(?:[/?#]|$)")
_FRONTIER: Final = ROLES["frontier"].spec


class Asked(Struct, frozen=True, kw_only=True):
    """What stories are told from: a crawl, and the configuration to judge by."""

    crawl: str
    where: str
    """Folder or brokers, for people."""
    reader: LogReader
    held: Held
    config: Config
    source: str
    """Where the configuration comes from, for people."""
    archive: Path | None = None
    """Folder of the archive; None: it is not on this machine."""


def explain(asked: Asked, given: str, now_ms: int) -> Story:
    """Everything that is known of a URL; a text that is none has a story too, of one sentence."""
    url = split(_absolute(given), rules_of(asked.config.url))
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
    return story if isinstance(url, Refusal) else _told(asked, url, story)


def _absolute(given: str) -> str:
    """What is typed without a scheme is meant for https, as seeds are; "example.com:8080/a" has none, "mailto:a" has."""
    bare = "://" not in given and (":" not in given.partition("/")[0] or _PORT.match(given) is not None)
    return f"https://{given}" if bare else given


def _told(asked: Asked, url: Url, story: Story) -> Story:
    config, reader = asked.config, asked.reader
    partition = placement_of(config).partition(url.server)
    gathered = gather(reader, url, partition)
    results = gathered.logged.results
    logged = replace(gathered.logged, responses=responses(reader, asked.archive, url, partition, results))
    state = reader.state(_FRONTIER, partition)
    examined = examine(state, url) if state is not None else None
    evidence = Evidence(
        config=config,
        held=asked.held,
        first=logged.discoveries.first,
        examined=examined,
        state=state,
        robots=gathered.robots,
        robots_last=logged.robots_last,
        spent=sum(_spent(reader, config)),
        now_ms=story.now_ms,
    )
    recomputed = replace(story.recomputed, checks=[*story.recomputed.checks, *judge(url, evidence)])
    standing = examined.standing if examined is not None else None
    paused = [*(["crawl"] if asked.held.crawl else []), *(["server"] if url.server in asked.held.servers else [])]
    return replace(
        story,
        canonical=url.text,
        server=url.server,
        partition=partition,
        logged=logged,
        state=standing,
        paused=paused,
        recomputed=recomputed,
        next=outlook(logged, standing, recomputed, paused, config),
    )


def _same_config(asked: Asked) -> bool | None:
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
