"""What `sites-found` says decides alone: read again from its beginning it gives the same table, however it is cut into batches."""

import random
from typing import Any

import pytest

from schemas.sites import Site
from tests.streams.coordinator.rig import PARTITIONS, Rig, command, configure, found

SETTINGS: tuple[dict[str, Any], ...] = (
    {"assign": "round-robin"},
    {"assign": "least-loaded"},
    {"assign": "round-robin", "admit": "approved", "slots": 3},
    {"assign": "least-loaded", "admit": "approved", "slots": 2},
)


def history(rig: Rig, chance: random.Random) -> None:
    names = [f"site{number}.example" for number in range(400)]
    for _ in range(120):
        some = chance.sample(names, chance.randrange(1, 12))
        match chance.randrange(8):
            case 0:
                rig.tell(command(chance.choice(("add", "approve", "block", "set")), *some, budget=chance.randrange(9)))
            case 1:
                rig.tell(command("slots", slots=chance.randrange(-1, PARTITIONS + 2)))
            case _:
                rig.tell(found(*some, home=chance.randrange(PARTITIONS), load=chance.randrange(500)))


def table_of(rig: Rig, chance: random.Random, aborts: bool) -> dict[str, Site]:
    while rig.position < len(rig.inputs):
        rig.read(chance.randrange(1, 30))
        if aborts and chance.random() < 0.3:
            rig.abort()
        elif chance.random() < 0.5:
            rig.commit()
    rig.commit()
    assert rig.latest == rig.rows
    return rig.rows


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: "-".join(map(str, one.values())))
def test_a_replay_from_the_beginning_gives_the_same_table(settings: dict[str, Any]) -> None:
    chance = random.Random(20)
    with Rig(configure(**settings)) as first, Rig(configure(**settings)) as again:
        history(first, chance)
        again.tell(*first.inputs)
        table = table_of(first, chance, aborts=True)
        assert len(table) > 250
        assert len({row.slot for row in table.values()}) > 1
        assert table_of(again, chance, aborts=False) == table
        first.move()
        assert first.rows == table
