"""The native module's types. Its sources are in src/."""

from gregor.url.canonical import Url
from workers.extractor.page_links import LinkKind

INTERFACE: int
__version__: str

class Scanner:
    def __init__(
        self,
        url: type[Url],
        /,
        *,
        agent: str,
        max_links: int,
        requisites: bool,
        max_length: int,
        drop_session_ids: bool,
        drop_tracking: bool,
        sort_query: bool,
    ) -> None: ...
    def scan(
        self, data: bytes, url: str, unicode: bool, /
    ) -> tuple[str, str, int, int, list[str], list[LinkKind], list[int], list[int], list[Url | str | None]] | None: ...
    def fingerprints(self, data: bytes, url: str, /) -> tuple[list[str], bytes, bytes, bytes] | None: ...
