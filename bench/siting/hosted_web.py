"""A generated web on loopback: a site for each address, all on one port, with the generator's own list of what a crawl must find."""

from collections.abc import Set
from functools import cached_property

from gregor.demo.answer import ROBOTS, Answer, loopback
from gregor.offline.generated import GeneratedWeb, WebShape

SEEDS = (0,)
"""From the root of the first site everything is reached."""


class HostedWeb:
    """A HostedSite."""

    def __init__(self, shape: WebShape, port: int = 0) -> None:
        self._shape = shape
        self.port = port

    @cached_property
    def web(self) -> GeneratedWeb:
        return GeneratedWeb(self._shape, [f"{address}:{self.port}" for address in self.addresses()])

    @property
    def seeds(self) -> list[str]:
        return self.web.seeds()

    def at(self, port: int) -> "HostedWeb":
        return HostedWeb(self._shape, port)

    def addresses(self) -> list[str]:
        return [loopback(site) for site in range(self._shape.sites)]

    def url(self, host: int, path: str) -> str:
        return f"http://{self.web.server(host)}{path}"

    def pages(self) -> Set[str]:
        return self.urls()

    def urls(self) -> Set[str]:
        return frozenset(self.web.urls(self.web.graph.reachable(SEEDS)))

    def urls_of_two_levels(self) -> Set[str]:
        """What is found by who follows links within a site alone, from the root of each site that a link leads to."""
        return frozenset(self.web.urls(self.web.graph.reachable_by_site(SEEDS)))

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        body = None if path == ROBOTS else self.web.answer(f"{address}:{self.port}", path)
        return Answer(404, "") if body is None else Answer(200, "", raw=body)
