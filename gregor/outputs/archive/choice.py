"""Which pages of an archive are wanted: by URL, by the beginning of URLs, by a pattern, by status."""

from collections.abc import Callable, Sequence

import re2  # type: ignore[import-untyped]

from gregor.errors import UsageError
from gregor.outputs.archive.page import ArchivedPage

Chosen = Callable[[ArchivedPage], bool]


def choice(urls: Sequence[str], match: str | None, every_status: bool) -> Chosen:
    """``urls`` with a final * are beginnings; nothing given means all. Without ``every_status`` only answers of 200 to 299, or 304."""
    exact = frozenset(url for url in urls if not url.endswith("*"))
    prefixes = tuple(url[:-1] for url in urls if url.endswith("*"))
    try:
        pattern = re2.compile(match) if match is not None else None
    except re2.error as error:
        raise UsageError(f"expected a regular expression (RE2), found {match!r} ({error})") from None

    def wanted(page: ArchivedPage) -> bool:
        facts = page.facts
        if not every_status and not (200 <= facts.status < 300 or facts.status == 304):
            return False
        if not every_status and facts.kind != "pages":
            return False
        url = facts.url
        if urls and url not in exact and not url.startswith(prefixes or ("\0",)):
            return False
        return pattern is None or pattern.search(url) is not None

    return wanted
