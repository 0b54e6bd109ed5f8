"""One page's work, of which nothing unforeseen goes beyond that page: a page that always raised would end every process that reads it."""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

from gregor.errors import GregorError
from gregor.runtime.unforeseen import tell_unforeseen

_log: Final = logging.getLogger("gregor.extractor")

T = TypeVar("T")


class Raised(Struct, frozen=True):
    """In place of an answer."""

    error: str


def guarded(url: str, work: Callable[[], T]) -> T | Raised:
    """What ``work`` gives for the page ``url``. What is wrong with this machine, and would be with the next page, is raised as ever:
    no memory, no disk, and all that RocksDB has to say, for which it has nothing but a bare Exception."""
    try:
        return work()
    except (MemoryError, OSError, GregorError):
        raise
    except Exception as error:
        if type(error) is Exception:
            raise
        tell_unforeseen(_log, "a page could not be read, the crawl goes on without its links", url, error)
        return Raised(f"{type(error).__name__}: {error}")
