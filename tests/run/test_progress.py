"""When a crawl is done, where a coordinator places sites."""

import pytest

from gregor.config import Config
from gregor.config.sections import PartitionsSection
from gregor.errors import UsageError
from gregor.run.progress import Progress, is_done
from gregor.run.topology import COORDINATOR, enabled_roles


def seen(**counters: int) -> Progress:
    return Progress({}, {"frontier": 0, "coordinator": 0}, counters)


@pytest.mark.parametrize("counters", [{"waiting": 1}, {"sites_found": 1}, {"waiting": 5, "waiting_held": 4}])
def test_a_crawl_is_not_done_while_sites_resolve_or_links_wait_for_an_answer(counters: dict[str, int]) -> None:
    assert not is_done(seen(**counters), seen(**counters))


def test_a_crawl_is_not_done_while_the_coordinator_has_not_read_everything() -> None:
    behind = Progress({}, {"frontier": 0, "coordinator": 1}, {})
    assert not is_done(behind, behind)


def test_what_waits_for_people_or_for_an_address_alone_is_not_waited_for() -> None:
    left = seen(waiting=5, waiting_held=5, sites_waiting=2, sites_unresolvable=1)
    assert is_done(left, left)
    assert left.sites_waiting == 2


def test_only_a_crawl_that_places_sites_has_a_coordinator() -> None:
    hashed, placed = Config(), Config(partitions=PartitionsSection(placement="sites"))
    assert COORDINATOR.name not in enabled_roles(hashed)
    assert COORDINATOR.name in enabled_roles(placed)
    COORDINATOR.require(placed)
    with pytest.raises(UsageError, match="needs none"):
        COORDINATOR.require(hashed)
