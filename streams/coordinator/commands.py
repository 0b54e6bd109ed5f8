"""What people decide of sites: each command for each of its sites, or a verdict and nothing changed."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from schemas.sites import Site, SiteState
from schemas.sites_found import FoundSite, SiteCommand, SiteSetting
from streams.coordinator.life import on_approve
from streams.coordinator.names import is_site
from streams.coordinator.partition import CoordinatorPartition
from streams.coordinator.registry import Origin

MOST: Final = 10**12
"""Pages of a budget, and a depth: as the configuration bounds them."""
MOST_TAGS: Final = 32
LONGEST_TAG: Final = 100
LONGEST_TEXT: Final = 500
"""Characters of who asked, and why."""


def obey(command: SiteCommand, partition: CoordinatorPartition, now_ms: int) -> int:
    """Returns how many sites it is about."""
    partition.count("commands")
    if command.action == "slots":
        _set_slots(command, partition, now_ms)
        return 1
    settings = [setting for setting in command.sites if _is_possible(setting, partition, now_ms)]
    if command.action == "add":
        _add(settings, command, partition)
    rows = partition.registry.rows([setting.site for setting in settings])
    origins = partition.registry.origins(list(rows))
    for setting in settings:
        row = rows.get(setting.site)
        if row is None:
            detail = f"`{command.action}` by {command.by[:LONGEST_TEXT] or 'nobody named'}: nobody has met it, `add` makes it known"
            partition.verdicts.note(setting.site, "refused", "unknown-site", detail, now_ms)
            continue
        origin = origins.get(row.site)
        after = _after(row, setting, command, _state(row, command, origin, partition))
        if after is not row:
            partition.change(row, after, origin)
            # A command may name a site twice.
            rows[row.site] = after
            if after.state == "placed":
                origins.pop(row.site, None)
    return max(1, len(command.sites))


def _set_slots(command: SiteCommand, partition: CoordinatorPartition, now_ms: int) -> None:
    if 0 <= command.slots <= partition.partitions:
        partition.facts.said_slots = command.slots
        return
    detail = f"expected at most {partition.partitions} slots, as many as there are partitions, found {command.slots}"
    partition.verdicts.note("slots", "refused", "impossible-slots", detail, now_ms)


def _is_possible(setting: SiteSetting, partition: CoordinatorPartition, now_ms: int) -> bool:
    if not is_site(setting.site, setting.scheme, partition.by_domain):
        detail = "expected a site as `partitions.partition_by` has them"
        partition.verdicts.note(setting.site, "refused", "invalid-site", detail, now_ms)
        return False
    for name, value in (("budget", setting.budget), ("max_depth", setting.max_depth)):
        if value is not None and not 0 <= value <= MOST:
            detail = f"expected {name} of 0 to {MOST}, found {value}"
            partition.verdicts.note(setting.site, "refused", "invalid-setting", detail, now_ms)
            return False
    tags = setting.tags or ()
    if len(tags) > MOST_TAGS or any(not 0 < len(tag) <= LONGEST_TAG for tag in tags):
        detail = f"expected at most {MOST_TAGS} tags of 1 to {LONGEST_TAG} characters"
        partition.verdicts.note(setting.site, "refused", "invalid-setting", detail, now_ms)
        return False
    return True


def _add(settings: Sequence[SiteSetting], command: SiteCommand, partition: CoordinatorPartition) -> None:
    """Those that nobody has met arrive like others, with nobody's page before them; their settings follow."""
    known = partition.registry.rows([setting.site for setting in settings])
    unknown = {setting.site: setting for setting in reversed(settings) if setting.site not in known}
    found = [
        FoundSite(site=site, scheme=unknown[site].scheme, found_ms=command.at_ms)
        for site in dict.fromkeys(setting.site for setting in settings)
        if site in unknown
    ]
    partition.arrive(found, [(len(found), None)], by=command.by[:LONGEST_TEXT])


def _state(row: Site, command: SiteCommand, origin: Origin | None, partition: CoordinatorPartition) -> SiteState:
    if command.action == "block":
        return "blocked"
    if command.action == "approve":
        needs_address = origin is not None and partition.needs_address(origin.server)
        return on_approve(row.state, was_placed=origin is None, needs_address=needs_address)
    return row.state


def _after(row: Site, setting: SiteSetting, command: SiteCommand, state: SiteState) -> Site:
    """The row as it becomes; the same one when nothing changes."""
    budget = row.budget if setting.budget is None else setting.budget
    max_depth = row.max_depth if setting.max_depth is None else setting.max_depth
    tags = row.tags if setting.tags is None else tuple(sorted(set(setting.tags)))
    if (budget, max_depth, tags, state) == (row.budget, row.max_depth, row.tags, row.state):
        return row
    return replace(
        row,
        state=state,
        budget=budget,
        max_depth=max_depth,
        tags=tags,
        version=row.version + 1,
        changed_ms=command.at_ms,
        by=command.by[:LONGEST_TEXT],
        detail=command.detail[:LONGEST_TEXT] if state != row.state else row.detail,
    )
