"""All known URLs of a partition in the order of their keys, a region at a time: for comparing two states."""

from collections.abc import Iterator

from gregor.runtime.state.store import StateReader
from streams.frontier.storage.uniqueness.blocks import BLOCK, SEEN, read_entries, read_runs
from streams.frontier.storage.uniqueness.entries import Entries, merge, newest
from streams.frontier.storage.uniqueness.keys import REGIONS, first_key_of_region


def regions(state: StateReader) -> Iterator[Entries]:
    """As many as there are regions, empty ones included, so that two states can be walked through side by side."""
    for region in range(REGIONS):
        start = first_key_of_region(region).to_bytes(8, "big")
        end = first_key_of_region(region + 1).to_bytes(8, "big") if region + 1 < REGIONS else None
        blocks = read_entries([value for key, value in state.scan(SEEN, start, end) if key[8:9] == BLOCK])
        runs = read_entries([value for _, value in read_runs(state, region)])
        yield merge(blocks, newest(runs))
