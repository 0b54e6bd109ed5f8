"""N, the number of repositories, reaches the known URLs of a partition, stays what it was, and is never changed unnoticed."""

import pytest

from gregor.errors import ForeignState
from gregor.url.fingerprint import HashPlacement
from schemas.discovered import Discovered
from streams.frontier.storage.uniqueness.blocks import RUNS
from streams.frontier.storage.uniqueness.engine import UniquenessEngine
from tests.streams.frontier.rig import T0, Rig, configure, links

PARTITIONS = 16


def of_one_partition(repositories: int) -> list[Discovered]:
    """Two thousand servers that all belong to partition 5."""
    placement = HashPlacement(repositories, PARTITIONS)
    names = (f"s{number}.example" for number in range(10**6))
    mine = (name for name in names if placement.partition(name) == 5)
    return [links(next(mine), "/") for _ in range(2000)]


@pytest.mark.parametrize("repositories", [16, 64, 4096, 65_536])
def test_the_known_urls_of_a_partition_stand_together_whatever_the_number_of_repositories(repositories: int) -> None:
    config = configure(partitions={"repositories": repositories, "partitions": PARTITIONS})
    with Rig(config) as rig:
        rig.frontier.discover(of_one_partition(repositories), T0)
        rig.commit()
        regions = {key[0] for key, _ in rig.replica.reader.scan(RUNS)}
        assert regions == set(range(5 * 16, 6 * 16)), "one part in sixteen of all keys"


@pytest.mark.parametrize("noted", [True, False])
def test_a_partition_knows_its_urls_also_where_their_order_was_not_noted(noted: bool) -> None:
    with Rig(configure(partitions={"repositories": 65_536})) as rig:
        if not noted:
            # As it was when every partition sorted by 4,096, whatever was configured.
            state = rig.frontier.state
            state.facts.repositories, state.engine = 0, UniquenessEngine(rig.replica.reader)
        for _ in range(2):
            rig.frontier.discover([links(f"s{number}.example", "/") for number in range(50)], T0)
            rig.commit()
            rig.move()
        assert (rig.counters["admitted"], rig.counters["duplicates"]) == (50, 50)


def test_another_number_of_repositories_than_a_partition_began_with_is_refused() -> None:
    with Rig(configure(partitions={"repositories": 64})) as rig:
        rig.frontier.discover([links("a.example", "/")], T0)
        rig.commit()
        rig.config = configure(partitions={"repositories": 128})
        with pytest.raises(ForeignState, match=r"made with partitions\.repositories 64, expected 128"):
            rig.restart()
