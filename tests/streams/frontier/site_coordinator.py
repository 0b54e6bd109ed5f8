"""The coordinator beside partitions of the frontier: it reads what they tell and what people decide, and writes into their logs."""

from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.sites import Site
from schemas.sites_found import SiteAction
from tests.streams.coordinator import rig
from tests.streams.frontier.site_crawl import SiteCrawl


class SiteCoordinator(rig.Rig):
    """Nothing that it decided has happened before it commits."""

    def __init__(self, crawl: SiteCrawl) -> None:
        self._crawl = crawl
        super().__init__(crawl.config)
        self.sites: dict[str, Site] = {}
        """The registry, as committed."""

    def work(self, most: int = 1_000_000) -> int:
        """Read so many records; gives how many there were."""
        self.inputs = [record.value or b"" for record in self._crawl.sites_found]
        before = self.position
        self.read(most)
        return self.position - before

    def commit(self) -> None:
        super().commit()
        self.sites = self.rows

    def _write(self, output: Output) -> None:
        super()._write(output)
        if output.topic == "discovered":
            self._crawl.append([output])

    def decide(self, action: SiteAction, site: str) -> None:
        """Somebody does, and it stands in the topic; nothing is read."""
        command = rig.command(action, site)
        self._crawl.append([Output("sites-found", 0, action.encode(), encode(command))])

    @property
    def slots(self) -> dict[str, int]:
        """What extractors can know: the slots of sites that are placed or blocked."""
        return {name: one.slot for name, one in self.sites.items() if one.state in ("placed", "blocked")}
