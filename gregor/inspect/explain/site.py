"""The site of a URL, where a coordinator places sites: where it stands, and what that means for the URL."""

from collections.abc import Callable

from msgspec.structs import replace

from gregor.config.servers import ServerSettings
from gregor.inspect.explain.story import Next, SiteStory, UrlCheck
from gregor.operate.site_table import Whereabouts
from streams.frontier.inspect import PartitionView


def site_story(where: Whereabouts, home: PartitionView | None) -> SiteStory:
    """``home``: the state of its home; None: it is not on this machine."""
    known = home.site(where.site) if home is not None else None
    links = known.links if known is not None else 0
    row = where.row
    if row is None:
        return SiteStory(
            site=where.site, home=where.home, state="unknown" if known is None else "told", links_waiting=links
        )
    return SiteStory(
        site=where.site,
        home=where.home,
        slot=row.slot,
        state=row.state,
        links_waiting=links,
        found_ms=row.found_ms,
        found_on=row.found_on,
        budget=row.budget,
        max_depth=row.max_depth,
        tags=list(row.tags),
        changed_ms=row.changed_ms,
        by=row.by,
        detail=row.detail,
    )


def site_check(site: SiteStory) -> UrlCheck:
    if site.state == "placed":
        return UrlCheck(about="site", passes=True, answer=f"{site.site} has slot {site.slot}")
    if site.state == "blocked":
        return UrlCheck(about="site", passes=False, answer=_blocked(site), reason="blocked")
    return UrlCheck(about="site", passes=None, answer=f"{site.site} is {WAITS[site.state]}")


def settings_of(usual: ServerSettings, site: SiteStory | None) -> ServerSettings:
    """Those of a server, and in their place what was decided of its site."""
    if site is None:
        return usual
    return replace(usual, budget=site.budget or usual.budget, max_depth=site.max_depth or usual.max_depth)


def next_by_site(site: SiteStory, otherwise: Callable[[], Next]) -> Next:
    """What its site has to wait for comes before everything else."""
    if site.state == "blocked":
        return Next(what=f"nothing: {_blocked(site)}; `gregor sites approve {site.site}` lets it be crawled again")
    if site.state == "waiting":
        return Next(what=f"it waits for somebody to approve its site: `gregor sites approve {site.site}`{_links(site)}")
    if site.state == "found":
        return Next(what=f"it waits until the name of its site has an address{_links(site)}")
    if site.state == "unresolvable":
        return Next(what=f"nothing until the name of its site has an address; it is asked for again{_links(site)}")
    if site.state == "told":
        return Next(what=f"it waits for the coordinator to place its site{_links(site)}")
    return otherwise()


WAITS = {
    "waiting": "waiting for somebody to approve it",
    "found": "waiting for an address of its name",
    "unresolvable": "without an address of its name",
    "told": "waiting for the coordinator",
    "unknown": "not known: no link to it was found, or its coordinator has not come to it",
}


def _blocked(site: SiteStory) -> str:
    why = f" ({site.detail})" if site.detail else ""
    return f"{site.site} is blocked by {site.by or 'nobody named'}{why}"


def _links(site: SiteStory) -> str:
    return f"; {site.links_waiting:,} links of it wait at its home, partition {site.home}" if site.links_waiting else ""
