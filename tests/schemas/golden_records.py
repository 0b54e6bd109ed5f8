"""What the golden files must be read as, line by line: first a record with every field set, then one with as few as it may have."""

from typing import Final

from msgspec import Struct

from schemas.archive import ArchiveFile
from schemas.changelog import Checkpoint
from schemas.control import ConfigVersion, Layout, Limits, Pause, Spent
from schemas.dead_letters import DeadLetter
from schemas.discovered import Discovered, Rel
from schemas.fetched import Fetched, FetchResult, RobotsRules, Timings
from schemas.items import Item
from schemas.pages import PageFacts
from schemas.schedule import FetchOrder, OrderUrl
from schemas.sites import Site
from schemas.verdicts import Verdict

_URL = OrderUrl(
    path="/a?b=1",
    scheme="http",
    depth=3,
    hops=4,
    off_site=1,
    redirects=2,
    seed=5,
    priority=7,
    visit=2,
    etag='W/"1"',
    last_modified="Wed, 21 Oct 2015 07:28:00 GMT",
    digest="0f" * 16,
    cookies="seen=1",
)
_RESULT = FetchResult(
    path="/a?b=1",
    outcome="redirect",
    scheme="http",
    status=301,
    started_ms=1760000001000,
    timings=Timings(dns=1, connect=12, first_byte=40, total=55),
    address="192.0.2.7",
    wire_bytes=120,
    body_bytes=300,
    truncated="length",
    digest="1e" * 16,
    previous_digest="0f" * 16,
    content_type="text/html; charset=utf-8",
    etag='"2"',
    last_modified="Wed, 21 Oct 2015 07:28:00 GMT",
    location="/b",
    retry_after_ms=30000,
    detail="moved",
    depth=3,
    visit=2,
)
_ROBOTS = RobotsRules(
    scheme="https",
    verdict="rules",
    text="Disallow: /private\n",
    crawl_delay_ms=2000,
    sitemaps=("https://example.com/sitemap.xml",),
    fetched_ms=1760000000500,
    status=200,
)

EXPECTED: Final[dict[str, tuple[Struct, ...]]] = {
    "discovered": (
        Discovered(
            server="example.com",
            paths=("/a", "/b?q=ü"),
            scheme="http",
            kind="sitemap",
            flags=(0, int(Rel.NOFOLLOW | Rel.UGC | Rel.SPONSORED)),
            counts=(1, 3),
            lastmods_ms=(0, 1445412480000),
            depth=2,
            hops=3,
            off_site=1,
            redirects=1,
            seed=4,
            internal=False,
            referrer="https://example.org/",
            referrer_lease="3-17-2",
            found_ms=1760000002000,
        ),
        Discovered(server="example.com", paths=()),
    ),
    "schedule": (
        FetchOrder(
            server="example.com:8080",
            lease="3-17-2",
            urls=(_URL, OrderUrl(path="/")),
            kind="robots",
            attempt=2,
            delay_ms=1500,
            deadline_ms=1760000060000,
            created_ms=1760000000000,
            connections=2,
            policy="clusters",
            policy_version=3,
            config_version="c0ffee",
        ),
        FetchOrder(server="example.com", lease="0-1-0", urls=()),
        FetchOrder(server="example.com", lease="0-2-0", urls=(OrderUrl(path="/", previous_ms=1760000000000),)),
    ),
    "fetched": (
        Fetched(
            server="example.com:8080",
            lease="3-17-2",
            results=(_RESULT, FetchResult(path="/", outcome="expired")),
            kind="robots",
            attempt=2,
            worker="fetcher-1a2b3c4d",
            schedule_partition=5,
            schedule_offset=1234,
            received_ms=1760000000900,
            started_ms=1760000001000,
            finished_ms=1760000003000,
            busy_ms=155,
            robots=(_ROBOTS, RobotsRules(scheme="http", verdict="unreachable")),
        ),
        Fetched(server="example.com", lease="0-1-0", results=()),
        Fetched(
            server="example.com",
            lease="0-2-0",
            results=(FetchResult(path="/", outcome="redirect", location="/", cookies="seen=1; a=b"),),
        ),
    ),
    "pages": (
        PageFacts(
            server="example.com:8080",
            path="/a?b=1",
            lease="3-17-2",
            status=404,
            scheme="http",
            kind="robots",
            fetched_ms=1760000001000,
            address="2001:db8::7",
            protocol="HTTP/1.0",
            request_headers=(("Host", "example.com:8080"), ("Accept", "*/*")),
            response_headers=(("Content-Type", "text/html"), ("X-Name", "Zürich")),
            reason="Not Found",
            wire_bytes=120,
            body_bytes=300,
            truncated="disconnect",
            digest="1e" * 16,
            previous_digest="0f" * 16,
            depth=3,
            hops=4,
            off_site=1,
            redirects=2,
            seed=5,
            visit=2,
            attempt=2,
        ),
        PageFacts(server="example.com", path="/", lease="0-1-0", status=200),
        PageFacts(server="example.com", path="/", lease="0-2-0", status=304, previous_ms=1760000000000),
    ),
    "items": (
        Item(
            url="https://example.com/a",
            rule="title",
            fields={"title": "Zürich", "prices": [1, 2.5, None], "nested": {"deep": True}},
            lease="3-17-2",
            number=2,
            fetched_ms=1760000001000,
            config_version="c0ffee",
        ),
        Item(url="https://example.com/", rule="empty", fields={}),
    ),
    "archive": (
        ArchiveFile(
            file="00003-000000001234-1a2b3c4d.warc.gz",
            length=1048576,
            partition=3,
            first=1234,
            last=2345,
            records=1112,
            closed=True,
            opened_ms=1760000000000,
        ),
        ArchiveFile(file="00000-000000000000-1a2b3c4d.warc.gz", length=0, partition=0, first=0, last=0),
    ),
    "verdicts": (
        Verdict(
            server="example.com",
            kind="given-up",
            reason="redirect-to-self",
            url="https://example.com/a",
            count=12,
            stage="extractor",
            detail="after 5 redirects",
            decided_ms=1760000001000,
            lease="3-17-2",
            config_version="c0ffee",
        ),
        Verdict(server="example.com", kind="refused", reason="robots"),
    ),
    "frontier-changelog": (
        Checkpoint(
            sequence=17,
            positions={"discovered": 400, "fetched": 300},
            now_ms=1760000001000,
            config_version="c0ffee",
            counters={"admitted": 1000, "duplicates": 5000},
            member="1a2b3c4d",
            cursor_family=2,
            cursor_key=b"\x00\xffkey",
            cycle_start=90,
            restorable_from=12,
        ),
        Checkpoint(sequence=1, positions={}),
    ),
    "sites": (
        Site(server="example.com", partition=-1, version=3, decided_ms=1760000001000),
        Site(server="example.com", partition=5),
    ),
    "control": (
        Layout(repositories=4096, partitions=8, partition_by="domain"),
        Layout(repositories=4096, partitions=8),
        Pause(paused=True, server="example.com", by="an operator", since_ms=1760000001000),
        Pause(paused=False),
        Limits(max_pages=1000, until_ms=1760000060000),
        Limits(),
        ConfigVersion(version="c0ffee", text="[crawl]\nname = 'x'\n", since_ms=1760000001000),
        ConfigVersion(version="c0ffee"),
        Spent(partition=3, pages=17),
    ),
    "dead-letters": (
        DeadLetter(
            topic="discovered",
            partition=3,
            offset=1234,
            reason="not a record of type Discovered: Input data was truncated",
            stage="frontier",
            key="example.com\\xff",
            header="{}",
            size=-1,
            found_ms=1760000001000,
        ),
        DeadLetter(topic="fetched", partition=0, offset=0, reason="broken", stage="frontier"),
        DeadLetter(topic="fetched", partition=0, offset=0, reason="broken", stage="cli", receipt_of=1),
    ),
}
