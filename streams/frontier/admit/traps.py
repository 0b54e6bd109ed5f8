"""Endless sites: paths that repeat themselves, paths with ever new queries, directories of identical pages.

What is counted of a server is bounded, whatever the server does: the tables hold the most frequent paths and directories (the counts
of Misra and Gries, which are never too large and at most a share of the total too small).
"""

from collections.abc import Sequence
from typing import Final

from xxhash import xxh3_64_intdigest

from gregor.config.frontier import TrapsSection
from streams.frontier.storage.server import ServerRecord

PATHS: Final = 32
DIRECTORIES: Final = 16
REMEMBERED: Final = 4
"""Digests of a directory that are compared with the next page's."""
SHARE: Final = 0.9
_PAGES, _SAME, _DIGESTS = 0, 1, 2
_HASH: Final = 0xFFFFFFFF
_DIGEST: Final = 1 << 32


def path_reason(settings: TrapsSection, path: str) -> str:
    """Why a path is refused for its own sake; empty: it is not."""
    if len(path) > settings.max_path_length:
        return "too-long"
    if path[:1] != "/":
        return "invalid"
    most = settings.repeated_segments
    if most and path.count("/") > most:
        segments = path.partition("?")[0].split("/")
        if len(segments) > most:
            counts: dict[str, int] = {}
            for segment in segments:
                if segment:
                    counts[segment] = count = counts.get(segment, 0) + 1
                    if count > most:
                        return "repeated-segments"
    return ""


def reason(settings: TrapsSection, record: ServerRecord, path: str) -> str:
    """Why a URL of a server is refused; empty: it is not, and it is counted."""
    found = path_reason(settings, path)
    if found:
        return found
    if directory_closed(settings, record, path):
        return "identical-pages"
    return "query-variants" if "?" in path and too_many_variants(settings, record, path) else ""


def too_many_variants(settings: TrapsSection, record: ServerRecord, path: str) -> bool:
    """Whether this URL with a query is one too many of its path; if not, it is counted."""
    most = settings.query_variants
    if not most:
        return False
    key = xxh3_64_intdigest(path[: path.index("?")].encode()) & _HASH
    table = record.variants
    count = table.get(key, 0)
    if count >= most:
        return True
    if count or len(table) < PATHS:
        table[key] = count + 1
    else:
        record.variants = {path: count - 1 for path, count in table.items() if count > 1}
    return False


def directory_closed(settings: TrapsSection, record: ServerRecord, path: str) -> bool:
    """Whether the pages of this URL's directory were nearly all alike."""
    if not record.directories or not settings.identical_pages:
        return False
    facts = record.directories.get(_key(_directory(path)))
    return facts is not None and facts[_PAGES] >= settings.identical_pages and facts[_SAME] >= facts[_PAGES] * SHARE


def note_pages(record: ServerRecord, paths: Sequence[str], digests: Sequence[str]) -> None:
    """Pages of a server were fetched."""
    near: dict[str, list[int]] = {}
    for path, seen in zip(paths, _numbers(digests), strict=True):
        last = path.rfind("/", 0, path.index("?")) if "?" in path else path.rfind("/")
        directory = path[: last + 1]
        if directory in near:
            near[directory].append(seen)
        else:
            near[directory] = [seen]
    for directory, pages in near.items():
        _note_directory(record, directory, pages)


def _note_directory(record: ServerRecord, directory: str, pages: list[int]) -> None:
    while (facts := _facts(record, directory)) is None:
        pages = pages[1:]
        if not pages:
            return
    known = facts[_DIGESTS:]
    if len({*pages, *known}) == len(pages) + len(known):
        facts[_PAGES] += len(pages)
        facts[_DIGESTS:] = [*reversed(pages), *known][:REMEMBERED]
        return
    for seen in pages:
        facts[_PAGES] += 1
        if seen in facts:
            facts[_SAME] += 1
            facts.remove(seen)
        elif len(facts) >= _DIGESTS + REMEMBERED:
            facts.pop()
        facts.insert(_DIGESTS, seen)


def _facts(record: ServerRecord, directory: str) -> list[int] | None:
    """What is known of a directory, made if there is room; without room all others lose a page, and there is None."""
    key, table = _key(directory), record.directories
    facts = table.get(key)
    if facts is None and len(table) < DIRECTORIES:
        facts = table[key] = [0, 0]
    if facts is None:
        record.directories = {
            other: [known[_PAGES] - 1, min(known[_SAME], known[_PAGES] - 1), *known[_DIGESTS:]]
            for other, known in table.items()
            if known[_PAGES] > 1
        }
    return facts


def _numbers(digests: Sequence[str]) -> list[int]:
    """The first bits of each digest above all counts, so that the two never meet."""
    try:
        return [int(digest[:8], 16) & _HASH | _DIGEST for digest in digests]
    except ValueError:
        return [_number(digest) for digest in digests]


def _number(digest: str) -> int:
    """A record may come from anybody, and hold anything."""
    try:
        return int(digest[:8], 16) & _HASH | _DIGEST
    except ValueError:
        return xxh3_64_intdigest(digest.encode()) & _HASH | _DIGEST


def _key(directory: str) -> int:
    return xxh3_64_intdigest(directory.encode()) & _HASH


def _directory(path: str) -> str:
    bare = path.partition("?")[0]
    return bare[: bare.rfind("/") + 1]
