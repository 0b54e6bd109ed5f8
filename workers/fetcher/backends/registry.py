"""From the name that ``fetch.backend`` has for a backend to the backend.

The configuration's ``BackendName`` is the one list of them. A name is a folder beside this file, whose ``client.py`` has ``make``.
"""

from importlib import import_module
from typing import Final, get_args

from gregor.config.sections import BackendName
from workers.fetcher.backends.backend import MakeBackend

BACKENDS: Final[tuple[str, ...]] = get_args(BackendName)


def backend_named(name: str) -> MakeBackend:
    """Imported when it is chosen, so that the others cost nothing."""
    make: MakeBackend = import_module(f"workers.fetcher.backends.{name}.client").make
    return make
