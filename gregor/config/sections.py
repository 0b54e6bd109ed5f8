"""Every setting of gregor: its section, type, bounds, default, unit and meaning.

This file is the reference: the checker, `gregor config show` and docs/configuration.md are made from it. A name ends in
its unit (_s seconds, _ms milliseconds, _mb MiB, _bytes bytes); where zero has a meaning of its own, that is said.
"""

from hashlib import sha256
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from gregor.config.frontier import FrontierSection, RetrySection, RevisitSection, TrapsSection
from gregor.config.sites import SitesSection

MIB = 1024 * 1024

Delay = Annotated[float, Meta(ge=0, le=86_400)]
DelayFactor = Annotated[float, Meta(ge=0, le=100)]
Limit = Annotated[int, Meta(ge=0, le=10**12)]
TimeOut = Annotated[float, Meta(gt=0, le=3600)]
BodyBytes = Annotated[int, Meta(ge=1024, le=5 * MIB)]


class CrawlSection(Struct, frozen=True, kw_only=True):
    """What is crawled, and in whose name."""

    name: Annotated[
        str,
        Meta(
            pattern="^[a-z0-9][a-z0-9-]{0,63}$",
            description="Name of the crawl: prefix of its topics, groups and transactional ids, so that several crawls "
            "share a cluster. Lower-case letters, digits and hyphens, at most 64.",
        ),
    ] = "crawl"
    seeds: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=2048)], ...],
        Meta(description="URLs to begin with, each with http:// or https://."),
    ] = ()
    user_agent: Annotated[
        str,
        Meta(
            pattern="^[A-Za-z_-]{1,64}$",
            description="Product name in the User-Agent header, as RFC 9309 allows it: letters, hyphens, underscores.",
        ),
    ] = "gregor"
    contact: Annotated[
        str,
        Meta(
            max_length=512,
            description="URL (or mailto:) where the owner of a server learns who is crawling; stands in the User-Agent "
            "header. Empty: none is sent.",
        ),
    ] = ""
    scope: Annotated[
        Literal["hosts", "domains", "any"],
        Meta(description="Links followed: to the hosts of the seeds, to their registered domains, or to anywhere."),
    ] = "hosts"
    follow_links: Annotated[
        bool,
        Meta(
            description="Whether links, also those of sitemaps and feeds, are followed. false: the seeds alone, where they redirect to, "
            "and with extract.requisites what their pages need."
        ),
    ] = True
    processes: Annotated[
        int,
        Meta(
            ge=0,
            le=64,
            description="Processes of `gregor crawl` that read pages, beside the one that owns the log. 0: everything is done in one.",
        ),
    ] = 1
    max_depth: Annotated[
        Limit,
        Meta(description="Greatest depth of a URL. A seed has depth 1, as has a link across domains. 0: no limit."),
    ] = 0
    max_hops: Annotated[
        Limit,
        Meta(description="Greatest number of links between a URL and its seed, across all domains. 0: no limit."),
    ] = 100
    max_pages: Annotated[
        Limit,
        Meta(
            description="Pages of the whole crawl. Exact on one machine; on a cluster what is in flight is finished. "
            "0: no limit."
        ),
    ] = 0
    max_wait_hours: Annotated[
        float,
        Meta(
            ge=0,
            le=876_000,
            description="Hours that `gregor crawl` and `gregor cluster` wait while no URL may be asked for, because servers want to be "
            "left alone or attempts are repeated later; when it would be longer they end and say until when. Re-crawls are waited for "
            "without a limit. 0: no limit.",
        ),
    ] = 24.0
    server_budget: Annotated[
        Limit,
        Meta(
            description='Pages of one server (of one registered domain with partitions.partition_by = "domain"). '
            "0: no limit."
        ),
    ] = 0


class PartitionsSection(Struct, frozen=True, kw_only=True):
    """How servers are spread; fixed for the life of a crawl: no worker starts under another layout than the topics were made for."""

    repositories: Annotated[
        int,
        Meta(ge=1, le=65_536, description="N: repositories that servers are hashed to. A power of two."),
    ] = 4096
    partitions: Annotated[
        int,
        Meta(
            ge=1,
            le=4096,
            description="P: partitions of the co-partitioned topics. A power of two, at most N; 8 for one machine, "
            "32 to 64 for a cluster.",
        ),
    ] = 8
    partition_by: Annotated[
        Literal["server", "domain"],
        Meta(description="What is hashed: the server, or its registered domain, which makes domain budgets exact."),
    ] = "server"
    placement: Annotated[
        Literal["hash", "sites"],
        Meta(
            description="Which partition of the frontier has a site, that is what is hashed: the one that its hash says, or the one that a "
            "coordinator gave it to; see [sites]."
        ),
    ] = "hash"


class KafkaSection(Struct, frozen=True, kw_only=True):
    """The cluster; not used by `gregor crawl` on one machine."""

    bootstrap: Annotated[
        str,
        Meta(min_length=1, max_length=4096, description="Brokers to ask first: host:port, several with commas."),
    ] = "127.0.0.1:9092"
    replication: Annotated[
        int,
        Meta(
            ge=1, le=32_767, description="Copies of each partition of the topics that gregor creates; 3 on a cluster."
        ),
    ] = 1
    session_timeout_s: Annotated[
        float,
        Meta(ge=1, le=1800, description="Seconds after which a silent member loses its partitions."),
    ] = 10.0
    transaction_timeout_s: Annotated[
        float,
        Meta(ge=1, le=900, description="Seconds after which the broker aborts an unfinished checkpoint."),
    ] = 10.0
    give_up_after_s: Annotated[
        float,
        Meta(ge=0, le=86_400, description="Seconds without any broker before the process ends with exit code 2."),
    ] = 60.0
    security: Annotated[
        dict[str, str],
        Meta(
            description="Settings handed to librdkafka as they are: security.*, sasl.*, ssl.*. A password or key is a "
            "reference, env:NAME or file:PATH, and is never shown."
        ),
    ] = {}


class StateSection(Struct, frozen=True, kw_only=True):
    """Where a member keeps its state, and the memory that it may use for it."""

    folder: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4096,
            description="Folder of the state, relative to the working directory. One process at a time may hold it.",
        ),
    ] = "gregor-state"
    block_cache_mb: Annotated[
        int,
        Meta(ge=8, le=1_048_576, description="MiB of RocksDB's block cache, shared by all partitions of the process."),
    ] = 128
    write_buffer_mb: Annotated[
        int,
        Meta(ge=8, le=65_536, description="MiB of RocksDB's write buffers, shared by all partitions of the process."),
    ] = 64
    known_mb: Annotated[
        int,
        Meta(
            ge=1,
            le=1_048_576,
            description="MiB of known URLs that the frontier holds in memory as it has read them, 16 bytes each, shared by all "
            "partitions of the process; a partition has 32 MiB at the most.",
        ),
    ] = 128
    unread_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=10**9,
            description="Responses that wait to be read or archived before no more are asked for; `gregor crawl` alone: on Kafka they "
            "wait on the brokers' disks.",
        ),
    ] = 30_000
    unread_mb: Annotated[int, Meta(ge=1, le=1_048_576, description="The same in MiB of them.")] = 256


class CheckpointSection(Struct, frozen=True, kw_only=True):
    """When a stage commits what it has done: whichever comes first. `gregor crawl` waits for 2 ms, 5 ms apart, and 2 MiB at the most."""

    idle_ms: Annotated[
        int,
        Meta(ge=1, le=60_000, description="Milliseconds without input after which pending work is committed."),
    ] = 30
    apart_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="Milliseconds from one commit to the next when other stages wait for it, on average (after a pause eight may "
            "follow each other): on Kafka a commit costs the broker ten milliseconds of processor time, whatever it holds.",
        ),
    ] = 100
    max_urls: Annotated[
        int,
        Meta(ge=1, le=100_000_000, description="URLs decided since the last commit."),
    ] = 100_000
    max_bytes: Annotated[
        int,
        Meta(ge=65_536, le=1024 * MIB, description="Bytes of output since the last commit."),
    ] = 16 * MIB
    max_interval_s: Annotated[
        float,
        Meta(gt=0, le=600, description="Seconds since the last commit."),
    ] = 1.0


BackendName = Literal["aiohttp", "archive"]
"""The folders of workers/fetcher/backends/; what is not here cannot be chosen."""
OFFLINE_BACKENDS: Final = frozenset(("archive",))
"""Those that open no socket and ask nobody: no owner of a server has to learn of them, no name is looked up, no delay has to be kept."""


class FetchSection(Struct, frozen=True, kw_only=True):
    """How requests are made: politeness, time-outs, caps."""

    backend: Annotated[
        BackendName,
        Meta(
            description="What carries out requests: aiohttp (HTTP/1.1), or archive, which answers from the web that [emulate] names and "
            "opens no socket. All keep the same caps; whichever connects has the same address guard."
        ),
    ] = "aiohttp"
    delay_s: Annotated[
        Delay,
        Meta(description="Seconds between two requests to one server. A longer Crawl-delay of its robots.txt wins."),
    ] = 1.0
    delay_factor: Annotated[
        DelayFactor,
        Meta(description="The delay is at least this many times the server's last response time. 0: not used."),
    ] = 2.0
    connections: Annotated[
        int,
        Meta(ge=1, le=65_536, description="Connections open at once in one fetcher process."),
    ] = 256
    urls_per_order: Annotated[
        int,
        Meta(ge=1, le=1000, description="URLs of one server in one fetch order, at most."),
    ] = 16
    orders_in_flight: Annotated[
        int,
        Meta(ge=1, le=20_000, description="Orders of one partition that are out at once: this is the back-pressure."),
    ] = 128
    connect_timeout_s: Annotated[TimeOut, Meta(description="Seconds to look up the address and connect.")] = 10.0
    first_byte_timeout_s: Annotated[
        TimeOut, Meta(description="Seconds from the request to the first byte of the response.")
    ] = 20.0
    total_timeout_s: Annotated[TimeOut, Meta(description="Seconds for one request from beginning to end.")] = 60.0
    max_body_bytes: Annotated[
        BodyBytes,
        Meta(description="Bytes of a decoded body; what is longer is cut off and marked as truncated."),
    ] = 4 * MIB
    max_header_bytes: Annotated[
        int,
        Meta(ge=1024, le=MIB, description="Bytes of one response header, or of the status line."),
    ] = 16_384
    max_headers: Annotated[int, Meta(ge=8, le=10_000, description="Headers of one response.")] = 128
    types: Annotated[
        tuple[str, ...],
        Meta(
            description='Media types whose bodies are read, such as "text/html", "text/*" or "*/*+xml"; a page of another '
            "type is answered by its headers alone. Sitemaps and feeds need theirs. Empty: all."
        ),
    ] = ()
    allow_addresses: Annotated[
        tuple[str, ...],
        Meta(
            description="Address blocks that may be connected to although they are private, loopback or otherwise "
            'special, such as "127.0.0.0/8". Empty: none.'
        ),
    ] = ()


class RobotsSection(Struct, frozen=True, kw_only=True):
    """The rules in robots.txt (RFC 9309)."""

    obey: Annotated[bool, Meta(description="Whether robots.txt is fetched and obeyed.")] = True
    agent: Annotated[
        str,
        Meta(
            pattern="^[A-Za-z_-]{0,64}$",
            description="Name looked for in User-agent lines. Empty: crawl.user_agent.",
        ),
    ] = ""
    cache_hours: Annotated[
        float,
        Meta(gt=0, le=24, description="Hours after which robots.txt is fetched again; RFC 9309 allows 24."),
    ] = 24.0
    max_bytes: Annotated[
        int,
        Meta(ge=500 * 1024, le=5 * MIB, description="Bytes of robots.txt that are read; RFC 9309 asks for 500 KiB."),
    ] = 500 * 1024
    when_denied: Annotated[
        Literal["allow", "refuse"],
        Meta(description="What a robots.txt answered with 401 or 403 means. RFC 9309 says allow."),
    ] = "allow"


class UrlSection(Struct, frozen=True, kw_only=True):
    """What a URL's canonical form leaves out beyond what never changes a resource."""

    max_length: Annotated[
        int, Meta(ge=64, le=65_536, description="Characters of a canonical URL; a longer one is refused.")
    ] = 2048
    drop_session_ids: Annotated[
        bool, Meta(description="Whether jsessionid, PHPSESSID and their like are taken out of URLs.")
    ] = False
    drop_tracking: Annotated[
        bool, Meta(description="Whether utm_source, gclid, fbclid and their like are taken out of URLs.")
    ] = False
    sort_query: Annotated[
        bool,
        Meta(description="Whether the parameters of a query are sorted by name; those of one name keep their order."),
    ] = False


class ScopeSection(Struct, frozen=True, kw_only=True):
    """Which links belong to the crawl, beyond the hosts that crawl.scope takes from the seeds; decided before they are sent on."""

    hosts: Annotated[
        tuple[str, ...],
        Meta(
            description='Further hosts, with * and ?: "docs.example.com", "*.example.org". Without a port: every port.'
        ),
    ] = ()
    domains: Annotated[
        tuple[str, ...], Meta(description='Further registered domains with all their hosts: "example.org".')
    ] = ()
    prefixes: Annotated[
        tuple[str, ...],
        Meta(description="Beginnings of URLs; if any are given, a link must begin with one of them."),
    ] = ()
    include: Annotated[
        tuple[str, ...],
        Meta(description="Regular expressions (RE2) searched in URLs; if any are given, one of them must be found."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(description="Regular expressions (RE2) searched in URLs; a link in which one is found is refused."),
    ] = ()
    refuse_extensions: Annotated[
        tuple[str, ...],
        Meta(description='Endings of paths that are no pages, such as "zip" or "tar.gz". Page requisites are exempt.'),
    ] = ()


class ExtractSection(Struct, frozen=True, kw_only=True):
    """What is taken out of pages."""

    requisites: Annotated[
        bool,
        Meta(
            description="Whether images, style sheets, scripts and media of pages are links too, also one step outside of the "
            "scope, so that an archive replays."
        ),
    ] = False
    nofollow: Annotated[
        Literal["follow", "drop"],
        Meta(description="Links with rel nofollow, ugc or sponsored: followed with a flag, or dropped."),
    ] = "follow"
    max_links: Annotated[int, Meta(ge=1, le=1_000_000, description="Links taken from one page.")] = 50_000
    sitemaps: Annotated[
        bool, Meta(description="Whether sitemaps are read, and Sitemap lines of robots.txt followed.")
    ] = True
    probe_sitemap: Annotated[
        bool, Meta(description="Whether /sitemap.xml is tried where robots.txt names no sitemap.")
    ] = False
    max_sitemap_urls: Annotated[int, Meta(ge=1, le=1_000_000, description="URLs taken from one sitemap.")] = 50_000
    max_sitemap_bytes: Annotated[
        int, Meta(ge=1024, le=1024 * MIB, description="Bytes of one sitemap that are read, after decompression.")
    ] = 50 * MIB
    feeds: Annotated[bool, Meta(description="Whether the entries of RSS and Atom feeds are links.")] = True
    page_facts: Annotated[
        tuple[Literal["title", "text", "language", "links"], ...],
        Meta(
            description='Facts of each page that go to the topic items under the rule "page": title, text, language, links.'
        ),
    ] = ()
    max_text_bytes: Annotated[
        int, Meta(ge=1024, le=4 * MIB, description="Bytes of a page's main text that are kept.")
    ] = 256 * 1024
    processes: Annotated[
        int,
        Meta(
            ge=0,
            le=256,
            description="Processes that help the stage with pages of 64 KiB and more, started when the first of them comes. [[item]] "
            "rules have at least one process of their own.",
        ),
    ] = 1
    time_limit_s: Annotated[
        float,
        Meta(gt=0, le=600, description="Seconds that the [[item]] rules of one page may take before they are stopped."),
    ] = 5.0


class FilterSection(Struct, frozen=True, kw_only=True):
    """The cache of known URLs in front of the topic discovered (paper 001); how much is remembered, never what is decided."""

    capacity: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description="URLs kept in memory; of long ones fewer, so that they take no more than 400 bytes each. 0: no filter.",
        ),
    ] = 200_000
    exchange: Annotated[
        float,
        Meta(gt=0, le=1, description="Share of the capacity that moves to the local store when the memory is full."),
    ] = 0.1
    start: Annotated[
        float,
        Meta(ge=0, le=1, description="Share of the capacity that a restart fills from the store, most repeated first."),
    ] = 0.5
    store_urls: Annotated[
        int,
        Meta(
            ge=0,
            le=10**10,
            description="URLs kept in the local store, two to four bytes of memory each; past it the store is emptied. 0: no store.",
        ),
    ] = 20_000_000
    hrefs: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000_000,
            description="Links remembered as they are written, by directory of their page; of long ones fewer, as above.",
        ),
    ] = 200_000
    flush_s: Annotated[
        float,
        Meta(ge=0, le=86_400, description="Seconds between two reports of how often known URLs were met. 0: none."),
    ] = 10.0
    flush_urls: Annotated[int, Meta(ge=1, le=10_000, description="URLs of one server in one such report.")] = 500


class ArchiveSection(Struct, frozen=True, kw_only=True):
    """Where responses are kept as WARC files; where and how large, never what."""

    enabled: Annotated[bool, Meta(description="Whether `gregor crawl` archives; on a cluster, a worker does.")] = True
    folder: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Folder of the WARC files; several archivers may share it. Empty: `archive` in the folder of the crawl "
            "or worker.",
        ),
    ] = ""
    max_file_bytes: Annotated[
        int,
        Meta(ge=1024, le=1024 * 1024 * MIB, description="Bytes after which a file is closed and another begun."),
    ] = 1024 * MIB
    max_file_hours: Annotated[
        float, Meta(gt=0, le=8784, description="Hours after which a file is closed and another begun.")
    ] = 24.0
    level: Annotated[int, Meta(ge=1, le=9, description="Level of compression: 1 is the fastest, 9 the smallest.")] = 4


class EmulateSection(Struct, frozen=True, kw_only=True):
    """The web that fetch.backend = "archive" answers from, and how fast it does."""

    web: Annotated[
        str,
        Meta(
            max_length=4096,
            description="A folder with WARC files (of gregor or of anybody else), one such file, or generated:PAGES,SITES,SEED and perhaps "
            ",today behind it: a web made up from these numbers.",
        ),
    ] = ""
    bandwidth: Annotated[
        float,
        Meta(
            ge=0,
            le=1e6,
            description="Mbit/s of each fetcher process, bodies as they were on the wire. 0: as fast as it goes.",
        ),
    ] = 0.0
    latency_ms: Annotated[
        float,
        Meta(ge=0, le=3_600_000, description="Milliseconds from a request to the first byte of its answer."),
    ] = 0.0
    jitter: Annotated[
        float,
        Meta(ge=0, le=1, description="Share of the latency by which that of a URL may differ, up or down."),
    ] = 0.0
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="What the jitter of each URL is drawn from.")] = 1


class MetricsSection(Struct, frozen=True, kw_only=True):
    """What a worker shows to Prometheus, at /metrics, and to whoever restarts workers that hang, at /healthz."""

    host: Annotated[
        str,
        Meta(min_length=1, max_length=255, description="Address to listen at; anybody who reaches it may read."),
    ] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port to listen at, another for each worker of a machine. 0: none.")
    ] = 0
    names: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=255)], ...],
        Meta(
            description="Further names by which it may be asked for, such as a service's in a Prometheus configuration. Requests by "
            "other names are refused; addresses, localhost and the machine's own name always work."
        ),
    ] = ()
    silent_after_s: Annotated[
        float,
        Meta(
            gt=0,
            le=86_400,
            description="Seconds without a turn of its loop after which a worker calls itself unhealthy; a checkpoint and a broker "
            "that is away take up to kafka.give_up_after_s.",
        ),
    ] = 90.0


class ViewsSection(Struct, frozen=True, kw_only=True):
    """Where `gregor worker views` shows the crawl: a live page, and JSON below /api/."""

    host: Annotated[
        str,
        Meta(min_length=1, max_length=255, description="Address to listen at; anybody who reaches it may read."),
    ] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port to listen at. 0: any that is free; the worker says which.")
    ] = 8642
    names: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=255)], ...],
        Meta(
            description="Further names by which the page may be asked for, such as that of a proxy before it. Requests by other "
            "names are refused; addresses, localhost and the machine's own name always work."
        ),
    ] = ()


class ServerRule(Struct, frozen=True, kw_only=True):
    """Settings of the servers whose name matches; a later table wins over an earlier one, key by key."""

    match: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=255,
            description='Pattern over server names: * is any text, ? any character; "*.example.com", "127.0.0.*". '
            "Without a port it holds for every port.",
        ),
    ]
    delay_s: Annotated[Delay | None, Meta(description="In place of fetch.delay_s.")] = None
    delay_factor: Annotated[DelayFactor | None, Meta(description="In place of fetch.delay_factor.")] = None
    max_depth: Annotated[Limit | None, Meta(description="In place of crawl.max_depth.")] = None
    budget: Annotated[Limit | None, Meta(description="In place of crawl.server_budget.")] = None
    max_body_bytes: Annotated[BodyBytes | None, Meta(description="In place of fetch.max_body_bytes.")] = None
    obey_robots: Annotated[bool | None, Meta(description="In place of robots.obey.")] = None
    headers: Annotated[
        dict[str, str],
        Meta(
            description="Headers sent to these servers and to no other. A value may be a reference, env:NAME or "
            "file:PATH. Tables that match are merged."
        ),
    ] = {}


class ItemField(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where one field of an item stands in a page: `css` or `xpath`, one of the two."""

    css: str = ""
    xpath: str = ""
    type: Literal["text", "integer", "number", "boolean", "url"] = "text"
    required: bool = False
    """Without it there is no item."""
    many: bool = False
    """All values as a list, not only the first."""


class ItemRule(Struct, frozen=True, kw_only=True):
    """What is taken out of the pages whose URL matches, into the topic items: fields, or whatever a function finds."""

    name: Annotated[
        str,
        Meta(
            pattern="^[a-z][a-z0-9_-]{0,63}$",
            description='Name of the rule, as it stands in each item. "page" is taken by extract.page_facts.',
        ),
    ]
    match: Annotated[
        str,
        Meta(min_length=1, max_length=1000, description="Regular expression (RE2) searched in the URL of a page."),
    ]
    each: Annotated[
        str,
        Meta(
            max_length=1000, description="CSS selector of the elements that are one item each. Empty: the page is one."
        ),
    ] = ""
    fields: Annotated[
        dict[str, ItemField],
        Meta(description="Fields by name: {css or xpath, type, required, many}."),
    ] = {}
    function: Annotated[
        str,
        Meta(
            pattern=r"^(?:[A-Za-z_][\w.]*:[A-Za-z_]\w*)?$",
            description='"module:function" that is given the page and yields items and links; in place of fields.',
        ),
    ] = ""


class Settings(Struct, frozen=True, kw_only=True, dict=True):
    """All sections. `Config` adds what is computed from them."""

    crawl: CrawlSection = CrawlSection()
    partitions: PartitionsSection = PartitionsSection()
    sites: SitesSection = SitesSection()
    kafka: KafkaSection = KafkaSection()
    state: StateSection = StateSection()
    checkpoint: CheckpointSection = CheckpointSection()
    fetch: FetchSection = FetchSection()
    robots: RobotsSection = RobotsSection()
    frontier: FrontierSection = FrontierSection()
    retry: RetrySection = RetrySection()
    revisit: RevisitSection = RevisitSection()
    traps: TrapsSection = TrapsSection()
    url: UrlSection = UrlSection()
    scope: ScopeSection = ScopeSection()
    extract: ExtractSection = ExtractSection()
    filter: FilterSection = FilterSection()
    archive: ArchiveSection = ArchiveSection()
    emulate: EmulateSection = EmulateSection()
    metrics: MetricsSection = MetricsSection()
    views: ViewsSection = ViewsSection()
    server: tuple[ServerRule, ...] = ()
    item: tuple[ItemRule, ...] = ()


def version_of(settings: Settings) -> str:
    """Twelve hex digits that change whenever a decision of the crawl may change.

    `kafka`, `state`, `filter`, `archive`, `emulate`, `metrics` and `views` are left out: they say where a member runs, what it remembers,
    where it keeps what it got, where a rehearsed web lies and where the member can be watched, and members of one crawl differ there.
    """
    elsewhere = ("kafka", "state", "filter", "archive", "emulate", "metrics", "views")
    decisive = {name: getattr(settings, name) for name in settings.__struct_fields__ if name not in elsewhere}
    return sha256(msgspec.json.encode(decisive, order="deterministic")).hexdigest()[:12]
