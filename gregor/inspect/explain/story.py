"""The parts of a story. Times are milliseconds since 1970, 0 where none is known; of long lists the latest are kept, with their number."""

from typing import Literal

from msgspec import Struct

from schemas.sites import SiteState
from streams.frontier.inspect import UrlStanding

"""What the frontier takes a URL for; one that it ordered is still waiting until its result has come.

``unknown``: it was never admitted, or refused for a reason of its way there (depth, hops, scope), so that it may come again."""


class Discovery(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One discovery."""

    offset: int
    kind: str
    referrer: str = ""
    """Page with the link; empty: a seed."""
    found_ms: int = 0
    depth: int = 1
    hops: int = 0
    off_site: int = 0
    redirects: int = 0
    seed: int = 0


class Discoveries(Struct, frozen=True, kw_only=True):
    """How the URL was found, as ``discovered`` tells. Links that the extractor knew to be known come as later repetitions only."""

    first: Discovery | None = None
    last: Discovery | None = None
    records: int = 0
    times: int = 0
    """How often pages linked to it, as far as it was reported."""
    kinds: dict[str, int] = {}
    """Kind of link to records."""


class VerdictSeen(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One verdict that names the URL."""

    kind: str
    reason: str
    stage: str
    detail: str = ""
    decided_ms: int = 0
    count: int = 1
    """More than 1: the URL is the example of so many."""


class OrderSeen(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One order that held the URL."""

    lease: str
    offset: int
    created_ms: int = 0
    deadline_ms: int = 0
    delay_ms: int = 0
    attempt: int = 1
    visit: int = 0
    urls: int = 1


class Result(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one order brought."""

    lease: str
    offset: int
    written_ms: int
    outcome: str
    status: int = 0
    started_ms: int = 0
    total_ms: int = 0
    address: str = ""
    wire_bytes: int = 0
    body_bytes: int = 0
    digest: str = ""
    content_type: str = ""
    location: str = ""
    truncated: str = ""
    detail: str = ""
    worker: str = ""


class ResponseSeen(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The response of one result: where it is in ``pages``, and where in the archive."""

    lease: str
    status: int = 0
    fetched_ms: int = 0
    offset: int = -1
    """In ``pages``; -1: it is not there any more."""
    file: str = ""
    """Archive file; empty: in none that is known."""
    file_offset: int = -1
    """Bytes from the beginning of that file; -1: not known, the file holds it somewhere."""
    length: int = 0
    """Bytes of the archived record; 0: not known."""


class UrlCheck(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One question about the URL, answered anew."""

    about: str
    passes: bool | None
    """None: cannot be told."""
    answer: str
    reason: str = ""
    """The short word that a verdict would carry; empty: it passes."""


class UrlHistory(Struct, frozen=True, kw_only=True):
    discoveries: Discoveries = Discoveries()
    verdicts: list[VerdictSeen] = []
    verdict_count: int = 0
    server_verdicts: dict[str, int] = {}
    """Kind and reason to URLs of the server."""
    orders: list[OrderSeen] = []
    order_count: int = 0
    results: list[Result] = []
    result_count: int = 0
    responses: list[ResponseSeen] = []
    robots_asked: int = 0
    """Orders for robots.txt of the URL's origin that were answered."""
    robots_last: Result | None = None
    """What the last of them brought."""
    gaps: dict[str, int] = {}
    """Topic to offsets of this partition that were trimmed: what stood there is not told."""

    @property
    def seen(self) -> bool:
        return bool(self.discoveries.records or self.order_count or self.result_count)


class Recomputed(Struct, frozen=True, kw_only=True):
    config_version: str
    config_source: str
    """Where the configuration comes from, for people."""
    same_config: bool | None
    """Whether the crawl last ran under it; None: it never ran."""
    checks: list[UrlCheck] = []

    @property
    def refusals(self) -> list[UrlCheck]:
        return [check for check in self.checks if check.passes is False]


class Next(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What happens to the URL from now on."""

    what: str
    when_ms: int = 0
    """0: at no time that could be told."""
    origin: Literal["logged", "recomputed"] = "logged"


class SiteStory(Struct, frozen=True, kw_only=True):
    """The URL's site, where a coordinator places sites."""

    site: str
    home: int
    """Partition of its hash: its links go there while it has no slot."""
    slot: int = -1
    """Partition of the frontier that has it, or will have it; -1: none was given."""
    state: SiteState | Literal["unknown", "told"] = "unknown"
    """``unknown``: no row tells of it. ``told``: its home told the coordinator, which has not answered."""
    links_waiting: int = 0
    """Of the site, at its home."""
    found_ms: int = 0
    found_on: str = ""
    """Page of the first link; empty: a seed, or somebody named it."""
    budget: int = 0
    max_depth: int = 0
    """0: what the configuration says."""
    tags: list[str] = []
    changed_ms: int = 0
    by: str = ""
    """Who changed it last; empty: the crawl itself."""
    detail: str = ""


class Story(Struct, frozen=True, kw_only=True):
    """The whole."""

    url: str
    """As it was asked for."""
    canonical: str = ""
    """Empty: there is no canonical form, and so no story."""
    server: str = ""
    partition: int = -1
    """Of the frontier, that has its server."""
    site: SiteStory | None = None
    """None: servers are placed by their hash."""
    crawl: str
    where: str
    now_ms: int
    logged: UrlHistory = UrlHistory()
    state: UrlStanding | None = None
    """None: the state is not on this machine."""
    paused: list[str] = []
    """``crawl`` and ``server``, if they are."""
    recomputed: Recomputed
    next: Next
