"""What a rule answers: a URL is allowed, or it is refused for a reason.

There is one answer for each reason, made once, so that a link that is refused costs no object.
"""

from typing import Final

from msgspec import Struct


class UrlAnswer(Struct, frozen=True):
    """Of one rule, or of all of them: the first that refuses has the word."""

    reason: str = ""
    """As counters and verdicts name it; empty: allowed."""
    detail: str = ""
    """Of a refusal: what the reason says of the URL, and the setting to look at; a sentence for people."""

    @property
    def allowed(self) -> bool:
        return not self.reason


ALLOWED: Final = UrlAnswer()
