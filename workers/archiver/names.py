"""Names of archive files: the crawl, the partition, the offset of the first page, the member that writes. No URL is part of any."""

import re
from typing import Final

from msgspec import Struct

_NAME = re.compile(
    r"(?P<crawl>[a-z0-9-]+)-(?P<partition>[0-9]{5})-(?P<first>[0-9]{19})-(?P<member>[a-z0-9-]+)\.warc\.gz"
)
ENDING: Final = ".warc.gz"


class Named(Struct, frozen=True):
    """What a name says."""

    crawl: str
    partition: int
    first: int
    member: str

    def __str__(self) -> str:
        return f"{self.crawl}-{self.partition:05}-{self.first:019}-{self.member}{ENDING}"


def parse(name: str) -> Named | None:
    """None: no file of an archiver."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    return Named(found["crawl"], int(found["partition"]), int(found["first"]), found["member"])
