"""Settings of the frontier's decisions: order, leases, retries, re-crawl, traps; sections like those of sections.py."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Delay = Annotated[float, Meta(ge=0, le=86_400)]
Limit = Annotated[int, Meta(ge=0, le=10**12)]


class FrontierSection(Struct, frozen=True, kw_only=True):
    """What is fetched next, and how long an order may stay out."""

    order: Annotated[
        Literal["depth-first-key", "priority-first-key"],
        Meta(
            description="Which part of a URL's place in the queue counts first. depth-first-key: depth, priority, hash, "
            "which is breadth first; priority-first-key: priority, depth, hash."
        ),
    ] = "depth-first-key"
    priority: Annotated[
        Literal["breadth-first", "link-count"],
        Meta(
            description="Where a URL's priority comes from: its kind of link alone, or also how often it was found. "
            "link-count looks every URL up twice."
        ),
    ] = "breadth-first"
    ageing_s: Annotated[
        float,
        Meta(
            ge=0.001,
            le=86_400,
            description="Seconds of waiting that weigh as much as one level of depth (or of priority, if that counts "
            "first) when servers compete for a place in flight.",
        ),
    ] = 60.0
    orders_per_server: Annotated[
        int, Meta(ge=1, le=16, description="Orders of one server that are out at once; 1 keeps its delay exact.")
    ] = 1
    max_off_site: Annotated[
        Limit,
        Meta(description="Greatest number of links across registered domains between a URL and its seed. 0: no limit."),
    ] = 20
    max_redirects: Annotated[int, Meta(ge=0, le=20, description="Redirects followed in a row.")] = 5
    queue_wait_s: Annotated[
        float,
        Meta(ge=0, le=86_400, description="Seconds that an order is expected to wait for a fetcher, at least."),
    ] = 60.0
    clock_tolerance_s: Annotated[
        float,
        Meta(ge=0, le=3600, description="Seconds by which clocks of members may differ when a lease ends."),
    ] = 10.0
    verdicts_per_checkpoint: Annotated[
        int,
        Meta(ge=0, le=100_000, description="Verdict records of one partition in one checkpoint; counts stay exact."),
    ] = 100


class RetrySection(Struct, frozen=True, kw_only=True):
    """What happens to URLs and servers that fail."""

    attempts: Annotated[
        int,
        Meta(ge=0, le=100, description="How often a failed request is repeated; client errors and refusals never are."),
    ] = 3
    first_s: Annotated[
        Delay, Meta(description="Seconds before the first repetition; each further one waits four times as long.")
    ] = 60.0
    longest_s: Annotated[Delay, Meta(description="Seconds before any repetition, at most.")] = 3600.0
    server_attempts: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="Orders in a row that did not reach a server before all that waits for it is given up.",
        ),
    ] = 5
    dead_hours: Annotated[
        float, Meta(gt=0, le=8760, description="Hours for which such a server is not asked again.")
    ] = 24.0


class RevisitSection(Struct, frozen=True, kw_only=True):
    """When a fetched URL is fetched again: r(K)."""

    mode: Annotated[
        Literal["off", "fixed", "adaptive"],
        Meta(
            description="off: never; fixed: after interval_hours; adaptive: sooner after a change, later without, "
            "within shortest_hours and longest_hours."
        ),
    ] = "off"
    interval_hours: Annotated[
        float, Meta(gt=0, le=87_600, description="Hours between two visits, or before the second.")
    ] = 168.0
    shortest_hours: Annotated[float, Meta(gt=0, le=87_600, description="Least interval of adaptive visits.")] = 1.0
    longest_hours: Annotated[float, Meta(gt=0, le=87_600, description="Greatest interval of adaptive visits.")] = 2160.0
    changed: Annotated[
        Literal["text", "bytes"],
        Meta(
            description="What adaptive visits take for a change of an HTML page: that of its text outside of markup, scripts and "
            "navigation, or that of any byte."
        ),
    ] = "text"


class TrapsSection(Struct, frozen=True, kw_only=True):
    """What keeps a crawl out of endless sites."""

    max_path_length: Annotated[int, Meta(ge=16, le=8000, description="Characters of a URL's path and query.")] = 1800
    repeated_segments: Annotated[
        int, Meta(ge=0, le=100, description="How often one path segment may stand in a path. 0: no limit.")
    ] = 4
    query_variants: Annotated[
        Limit, Meta(description="URLs of one path that differ in their query only. 0: no limit.")
    ] = 10_000
    identical_pages: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="Pages of one directory after which it is closed if nine of ten had contents seen just before. "
            "0: never.",
        ),
    ] = 100
