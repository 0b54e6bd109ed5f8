"""The table of sites gives what a dictionary would, whatever came in whatever pieces, for eleven bytes a site."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.extractor import site_table
from workers.extractor.site_table import UNKNOWN, SiteTable

_HASHES = st.one_of(st.integers(0, 40), st.integers(2**64 - 5, 2**64 - 1), st.integers(2**63 - 3, 2**63 + 3))
_PIECES = st.lists(st.dictionaries(_HASHES, st.integers(0, 65_535), max_size=12), max_size=12)


@settings(max_examples=200, deadline=None)
@given(_PIECES, st.lists(_HASHES, max_size=20))
def test_it_says_what_a_dictionary_says(pieces: list[dict[int, int]], asked: list[int]) -> None:
    least, site_table.LEAST_MERGED = site_table.LEAST_MERGED, 5  # type: ignore[misc]
    try:
        table, known = SiteTable(), dict[int, int]()
        for piece in pieces:
            table.add(piece)
            known.update(piece)
            wanted = [*known, *asked]
            assert table.slots(wanted) == [known.get(one, UNKNOWN) for one in wanted]
            assert [table.slots([one])[0] for one in wanted] == table.slots(wanted)
    finally:
        site_table.LEAST_MERGED = least  # type: ignore[misc]


def test_half_a_million_sites_in_small_pieces_take_eleven_bytes_each() -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, 500_000, np.uint64).tolist()
    table = SiteTable()
    for start in range(0, len(hashes), 5_000):
        table.add({one: one % 4096 for one in hashes[start : start + 5_000]})
    assert len(table) == 500_000
    assert table.bytes <= 11 * 500_000
    assert table.slots(hashes[::1_000]) == [one % 4096 for one in hashes[::1_000]]
    assert table.slots([one ^ 1 for one in hashes[:1_000]]).count(UNKNOWN) == 1_000
