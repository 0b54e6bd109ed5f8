"""What of a recorded discovery another configuration would have let through: the part of the scope that is judged before `discovered`."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from gregor.config import Config
from gregor.url.canonical import Refusal, Url, split
from schemas.discovered import Discovered
from workers.extractor.scope import Scope

_UNJUDGED = ("seed", "repetition")
"""Kinds that never pass the extractor's scope: a seed is given, a repetition was judged when it was found."""


class Sieve:
    """The scope of the extractor, applied once more. ``widened``: servers that seeds were redirected to."""

    def __init__(self, config: Config, widened: Iterable[str]) -> None:
        self._scope = Scope(config, widened)
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
        url = split(f"{found.scheme}://{found.server}{path}")
        if isinstance(url, Refusal):
            # The frontier has a reason of its own for these.
            return False
        reason = self._reason(found, url)
        self.refused[reason] += bool(reason)
        return bool(reason)

    def _reason(self, found: Discovered, url: Url) -> str:
        if found.kind == "requisite":
            return self._scope.requisite_refusal(url)
        return self._scope.refusal(url)
