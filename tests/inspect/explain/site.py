"""A site with one URL for each thing that can happen to a URL, and a crawl of it."""

import threading
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gregor.config import Config
from gregor.config.frontier import RetrySection
from gregor.config.sections import CrawlSection, FetchSection, PartitionsSection, ScopeSection, ServerRule
from gregor.demo.answer import ROBOTS, Answer
from gregor.operate.config_history import remember
from gregor.run.embedded import EmbeddedCrawl
from gregor.run.progress import Progress

LINKS = {
    "/": (
        "/a",
        "/a",
        "/b",
        "/private/x",
        "/deep/2",
        "/flaky",
        "/moved",
        "/file.zip",
        "http://out.example/",
        "/r/r/r/r/r/r",
    ),
    "/b": ("/a", "/c"),
    "/c": ("/a",),
    "/deep/2": ("/deep/3",),
    "/deep/3": ("/deep/4",),
}
RULES = "User-agent: *\nDisallow: /private/\n"


class EventfulSite(Struct, frozen=True):
    """Two hosts; the second has a first page and nothing else."""

    port: int = 0
    slow: str = ""
    """A path that takes long."""

    def at(self, port: int) -> "EventfulSite":
        return replace(self, port=port)

    def addresses(self) -> list[str]:
        return ["127.0.0.1", "127.0.0.2"]

    def url(self, host: int, path: str) -> str:
        return f"http://{self.addresses()[host]}:{self.port}{path}"

    @property
    def seeds(self) -> list[str]:
        return [self.url(0, "/"), self.url(1, "/")]

    def pages(self) -> set[str]:
        return {self.url(0, path) for path in LINKS} | {self.url(0, "/a"), self.url(1, "/")}

    def urls(self) -> set[str]:
        return self.pages() | {self.url(0, "/flaky"), self.url(0, "/moved")}

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        delay = 30.0 if path == self.slow else 0.0
        if path == ROBOTS:
            return Answer(200, RULES, content_type="text/plain")
        if path == "/flaky":
            return Answer(500, "not now")
        if path == "/moved":
            return Answer(301, "", location="/a")
        links = LINKS.get(path, ()) if address == "127.0.0.1" else ()
        return Answer(200, f"<p>{path}</p>" + "".join(f'<a href="{link}">x</a>' for link in links), delay_s=delay)


def config_of(site: EventfulSite, **crawl: object) -> Config:
    return Config(
        crawl=replace(CrawlSection(name="eventful", seeds=tuple(site.seeds), max_depth=3), **crawl),
        partitions=PartitionsSection(partitions=2),
        fetch=FetchSection(delay_s=0.0, delay_factor=0.0, allow_addresses=("127.0.0.0/8",), urls_per_order=4),
        scope=ScopeSection(refuse_extensions=("zip",)),
        retry=RetrySection(first_s=3000.0),
        server=(ServerRule(match="127.0.0.2", budget=1),),
    )


def crawl_until_only_retries_are_left(config: Config, folder: Path) -> None:
    """The crawl as it is run, until nothing but /flaky waits."""
    job = EmbeddedCrawl(config, folder)
    remember(job.transport, config, 1)
    stop = threading.Event()

    def watch(now: Progress) -> None:
        counts = now.counters
        waits = counts.get("queued", 0) + counts.get("leased", 0) + sum(now.lag.values())
        if counts.get("retrying", 0) == 1 and not waits:
            stop.set()

    try:
        job.run(watch, stop)
    finally:
        job.close()
