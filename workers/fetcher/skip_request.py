"""A request that is not made after all."""

from schemas.fetched import Outcome


class SkipRequest(Exception):
    """Raised at the last moment before a request; says which result its URL gets. A fetch backend lets it through."""

    def __init__(self, outcome: Outcome, reason: str, again_s: float = 0.0) -> None:
        """``again_s``: when to order the URL again; 0: as ever."""
        super().__init__(reason)
        self.outcome: Outcome = outcome
        self.reason = reason
        self.again_ms = round(again_s * 1000)
