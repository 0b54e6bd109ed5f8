"""What came of one check: how much was looked at, what contradicts it, and what could not be judged."""

from typing import Final

from msgspec import Struct

MOST_OFFENDERS: Final = 5


class Finding(Struct, frozen=True, kw_only=True):
    """One invariant, proved or refuted."""

    name: str
    says: str
    checked: int
    failed: int
    unknown: int
    """Cases that cannot be judged any more, because topics were trimmed."""
    offenders: list[str]
    """The first of those that failed."""
    note: str
    """Why something was not judged; empty: everything was."""

    @property
    def holds(self) -> bool:
        return not self.failed


class Check:
    """An invariant while it is being looked at."""

    def __init__(self, name: str, says: str) -> None:
        self._name = name
        self._says = says
        self.checked = self.failed = self.unknown = 0
        self.note = ""
        self._offenders: list[str] = []

    def fail(self, offender: str) -> None:
        self.failed += 1
        if len(self._offenders) < MOST_OFFENDERS:
            self._offenders.append(offender)

    def require(self, holds: bool, offender: str) -> None:
        """One more case."""
        self.checked += 1
        if not holds:
            self.fail(offender)

    def equal(self, found: int, expected: int, what: str) -> None:
        self.require(found == expected, f"{what}: expected {expected:,}, found {found:,}")

    def finding(self) -> Finding:
        return Finding(
            name=self._name,
            says=self._says,
            checked=self.checked,
            failed=self.failed,
            unknown=self.unknown,
            offenders=self._offenders,
            note=self.note,
        )
