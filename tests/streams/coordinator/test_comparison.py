"""Topic `sites` is compared with the registry when the partition comes, and put right where it says something else."""

import pytest
from msgspec.structs import replace

from gregor.runtime.transport.port import Record
from schemas.codec import encode
from schemas.sites import Site
from streams.coordinator import stage
from tests.streams.coordinator.rig import Rig, found

SITES = tuple(f"site{number}.example" for number in range(50))


def written(row: Site, key: str = "") -> Record:
    return Record("sites", 0, 0, (key or row.site).encode(), encode(row), None, 0)


def put_right(rig: Rig) -> int:
    """A restart, and as many checkpoints as it takes; how many rows were written again."""
    before = rig.counters.get("sites_rewritten", 0)
    rig.restart()
    while rig.stage._differences is not None:
        rig.step()
    return rig.counters.get("sites_rewritten", 0) - before


def test_a_table_that_is_right_is_left_alone() -> None:
    with Rig() as rig:
        rig.do(found(*SITES))
        rig.table.reverse()
        assert put_right(rig) == 0
        assert len(rig.table) == len(SITES)


def test_rows_that_are_missing_old_or_wrong_are_written_again() -> None:
    with Rig() as rig:
        rig.do(found(*SITES))
        rows = rig.rows
        del rig.table[7:17]
        rig.table.append(written(replace(rows[SITES[20]], slot=3, version=99)))
        rig.table.append(written(rows[SITES[21]]))
        rig.table.append(written(replace(rows[SITES[22]], slot=2, version=99), key="another key"))
        assert put_right(rig) == 12
        assert rig.latest == rows
        assert put_right(rig) == 0


def test_a_row_of_a_site_that_nobody_knows_loses_its_slot() -> None:
    with Rig() as rig:
        rig.do(found(*SITES))
        rig.table.append(written(Site(site="stranger.example", slot=2, version=2**63 - 1)))
        rig.table.append(Record("sites", 0, 0, b"x", b"nonsense", None, 0))
        rig.table.append(Record("sites", 0, 0, None, None, None, 0))
        assert put_right(rig) == 1
        assert rig.latest["stranger.example"].slot == -1
        assert put_right(rig) == 0


def test_a_topic_that_is_gone_is_written_in_parts_and_goes_on_after_a_failed_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stage, "REWRITTEN_AT_ONCE", 7)
    with Rig() as rig:
        rig.do(found(*SITES))
        rig.table.clear()
        rig.restart()
        rig.read(0)
        rig.abort()
        rig.step()
        assert len(rig.table) == 7
        rig.do(found("new.example"))
        assert len(rig.table) == 15, "what is new goes on meanwhile"
        assert put_right(rig) == len(SITES) - 14
        assert rig.latest == rig.rows
