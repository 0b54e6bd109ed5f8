"""Stores that end with their test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Store
from tests.runtime.state.stores import FAMILIES, SMALL

Open = Callable[[str], Store]


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Open]:
    """Opens the folder of that name; a store that is open under the name is closed first, as a restart would."""
    memory = SharedMemory(SMALL)
    opened: dict[str, Store] = {}

    def open_again(name: str) -> Store:
        if name in opened:
            opened[name].close()
        opened[name] = Store(tmp_path / name, FAMILIES, memory)
        return opened[name]

    yield open_again
    for store in opened.values():
        store.close()


@pytest.fixture
def store(open_store: Open) -> Store:
    return open_store("store")
