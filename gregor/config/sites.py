"""Settings of sites: how a coordinator places them, and which are crawled."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Limit = Annotated[int, Meta(ge=0, le=10**12)]


class SitesSection(Struct, frozen=True, kw_only=True):
    """Sites and their slots; only with partitions.placement = "sites"."""

    admit: Annotated[
        Literal["all", "approved"],
        Meta(
            description="Which sites are crawled: every one that is found, or those that somebody approved (`gregor sites approve`)."
        ),
    ] = "all"
    assign: Annotated[
        Literal["round-robin", "least-loaded"],
        Meta(
            description="Which slot a new site gets: one after the other in turn, or the one with the fewest URLs queued or in flight as "
            "far as the coordinator was told."
        ),
    ] = "round-robin"
    slots: Annotated[
        int,
        Meta(
            ge=0,
            le=4096,
            description="How many partitions get sites, the first ones, until `gregor sites slots` says otherwise. At most "
            "partitions.partitions. 0: all of them.",
        ),
    ] = 0
    coverage: Annotated[
        Literal["full", "two-level"],
        Meta(
            description="Whether links to pages of other sites are followed. two-level: only their sites are told, and crawled from "
            "their root pages; seeds and redirects count in any case."
        ),
    ] = "full"
    root_page: Annotated[
        bool, Meta(description="Whether the root page of a new site is fetched although no link to it was met.")
    ] = True
    resolve: Annotated[
        bool,
        Meta(
            description="Whether a site is placed only once its name has an address. false: every site is placed at once."
        ),
    ] = True
    resolve_at_once: Annotated[
        int, Meta(ge=1, le=10_000, description="Names that the coordinator asks for at the same time.")
    ] = 64
    resolve_again_hours: Annotated[
        float,
        Meta(gt=0, le=8760, description="Hours after which a name without an address is asked for again."),
    ] = 6.0
    waiting_links: Annotated[
        Limit,
        Meta(
            description="Links kept for one site that nobody has approved, or whose name has no address; more are refused, with a count. "
            "Links that wait for the coordinator's first answer are all kept."
        ),
    ] = 10_000
