"""Where the servers of a crawl live, as its configuration says."""

from gregor.config import Config
from gregor.url.fingerprint import HashPlacement, Placement


def placement_of(config: Config) -> Placement:
    layout = config.partitions
    return HashPlacement(layout.repositories, layout.partitions, layout.partition_by)
