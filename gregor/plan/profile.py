"""What a page costs, as measured: processor time by role, bytes on disks, memory; by the size of the page.

One profile is in the package and says where it was measured; `gregor plan --calibrate FILE` measures another one.
"""

from importlib.resources import files
from pathlib import Path

import msgspec
from msgspec import Struct

from gregor.errors import UsageError


class BySize(Struct, frozen=True):
    """So much for any page, and so much for each KB (1,000 bytes) of it."""

    fixed: float
    per_kb: float

    def at(self, kb: float) -> float:
        return max(0.0, self.fixed + self.per_kb * kb)


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one machine."""

    measured: str
    """Where, when and how."""
    cpu_ms: dict[str, BySize]
    """Role, and "broker", to milliseconds on a processor for a page."""
    memory_mb: dict[str, float]
    """Role, and "broker", to what one process takes at the most."""
    topic_bytes: BySize
    """On the brokers for a page, all topics but changelogs, one copy, as the producers compress it."""
    changelog_bytes: float
    """On the brokers for a known URL, one copy."""
    state_bytes: float
    """In a frontier's folder for a known URL."""
    archive_bytes: BySize
    """In WARC files for a page."""
    transaction_ms: float = 1.0
    """A broker's time for one transaction on one partition."""

    @property
    def roles(self) -> list[str]:
        return [role for role in self.cpu_ms if role != "broker"]


def packaged() -> Profile:
    return _decode((files("gregor.plan") / "profile.json").read_bytes(), "the package")


def read_profile(path: Path) -> Profile:
    try:
        return _decode(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"expected a profile in {path}, found: {error.strerror}") from error


def write_profile(profile: Profile, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n")


def _decode(data: bytes, where: str) -> Profile:
    try:
        profile = msgspec.json.decode(data, type=Profile)
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"expected a profile in {where}, found: {error}", remedy="`gregor plan --calibrate` makes one"
        ) from error
    missing = {
        "frontier",
        "fetcher",
        "extractor",
        "archiver",
        "broker",
    } - profile.cpu_ms.keys() & profile.memory_mb.keys()
    if missing:
        raise UsageError(f"expected the cost of every role in {where}, found none of {', '.join(sorted(missing))}")
    return profile
