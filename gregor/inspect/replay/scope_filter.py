"""What of a recorded discovery another configuration would have let through: the part of the scope that is judged before `discovered`."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from gregor.config import Config
from gregor.rules.answer import UrlAnswer
from gregor.rules.canonical import canonical_url
from gregor.rules.scope import LinkScope
from gregor.url.canonical import Url
from schemas.discovered import Discovered

_UNJUDGED = ("seed", "repetition")
"""Kinds that never pass the extractor's scope: a seed is given, a repetition was judged when it was found."""


class ScopeFilter:
    """The scope of the extractor, applied once more. ``widened``: servers that seeds were redirected to."""

    def __init__(self, config: Config, widened: Iterable[str]) -> None:
        self._scope = LinkScope(config, widened)
        self.refused: Counter[str] = Counter()
        """URLs that did not pass, by reason."""

    def __call__(self, found: Discovered) -> Discovered | None:
        if found.kind in _UNJUDGED:
            return found
        kept = [number for number, path in enumerate(found.paths) if not self._refuses(found, path)]
        if len(kept) == len(found.paths):
            return found
        changes: dict[str, Any] = {"paths": tuple([found.paths[number] for number in kept])}
        for name in ("flags", "counts", "lastmods_ms"):
            values = getattr(found, name)
            changes[name] = tuple([values[number] for number in kept]) if values else ()
        return replace(found, **changes) if kept else None

    def _refuses(self, found: Discovered, path: str) -> bool:
        url = canonical_url(f"{found.scheme}://{found.server}{path}")
        if isinstance(url, UrlAnswer):
            # The frontier has a reason of its own for these.
            return False
        answer = self._judged(found, url)
        self.refused[answer.reason] += not answer.allowed
        return not answer.allowed

    def _judged(self, found: Discovered, url: Url) -> UrlAnswer:
        return self._scope.judge_requisite(url) if found.kind == "requisite" else self._scope.judge(url)
