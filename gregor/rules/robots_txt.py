"""robots.txt as a file: its text, its Sitemap lines, and which of its other lines are for one agent (RFC 9309, 2.2.1).

A group is one or more User-agent lines and the rules behind them. Only a rule ends the list of agents: whatever else stands between two
of them, known or not, does not. All groups of one agent are one; those for everybody count where none names it. Crawl-delay and
Request-rate are not in the RFC; one of them belongs to the User-agent lines directly above it, because that is how files are written
that have nothing else to say to an agent.

Each line is looked at once, and only what is for the agent is kept, so that the time and the memory of any file are those of its length.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

Field = Literal["agent", "allow", "disallow", "crawl-delay", "request-rate", "sitemap"]

# With the spellings that other parsers take for what was meant. The colon may be missing.
_SPELLINGS: Final[dict[Field, str]] = {
    "agent": r"user[- ]?agent|useg-agent|user-agnet|users-agent|ser-agent",
    "disallow": r"diss?all?ow|diasllow|disallaw|desallow",
    "allow": r"allow",
    "crawl-delay": r"crawl[- ]delay",
    "request-rate": r"request[- ]rate",
    "sitemap": r"sitemaps?|site-map",
}
_FIELDS: Final = tuple(_SPELLINGS)
_LINE: Final = re.compile(
    "(?:" + "|".join(f"({spelling})" for spelling in _SPELLINGS.values()) + r")\s*(?::|\s)\s*(.*)", re.IGNORECASE
)
_TAG: Final = re.compile(r"<[^<>]*>")
_STRAY: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_BETWEEN_NAMES: Final = re.compile(r"[\s,]+")
_NAME: Final = re.compile(r"[a-z0-9_-]+")
_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# What Python, and not the RFC, takes for the end of a line, quoted as in a URL: the lines are read again as one text.
_NOT_ENDS: Final = {
    ord(one): "".join(f"%{byte:02X}" for byte in one.encode()) for one in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
}


class AgentLines(Struct, frozen=True):
    """What a file says to one agent, and to everybody."""

    text: str
    """A robots.txt for everybody that holds the agent's rules and delays; empty: it has none."""
    sitemaps: tuple[str, ...]


def text_of(body: bytes, *, cut: bool = False) -> str:
    """The characters of a file. ``cut``: its last line is not whole, and left out."""
    encoding = _UTF_16.get(body[:2])
    text = body[2:].decode(encoding, "replace") if encoding else body.decode("utf-8", "replace")
    # A mark, or the half of one.
    text = text.lstrip("\ufeff\ufffd")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if cut:
        text = text[: text.rfind("\n") + 1]
    # A page in its place may hold the file's lines, or none.
    return _TAG.sub("", text) if text.lstrip().startswith("<") else text


def sitemaps_of(text: str) -> Iterator[str]:
    """The values of the Sitemap lines, which are for everybody."""
    for field, value in _lines(text):
        if field == "sitemap" and value:
            yield value.split(None, 1)[0]


def lines_for(text: str, agent: str) -> AgentLines:
    """What the file says to ``agent``, a product token."""
    ours, everybodys = _Group(), _Group()
    sitemaps: list[str] = []
    for field, value in _lines(text):
        if field == "agent":
            names = _names(value)
            ours.named(agent.lower() in names)
            everybodys.named("*" in names)
        elif field == "sitemap":
            sitemaps += value.split(None, 1)[:1]
        else:
            ours.said(field, value)
            everybodys.said(field, value)
    lines = ours.lines if ours.met else everybodys.lines
    return AgentLines("\n".join(["user-agent: *", *lines, ""]) if lines else "", tuple(sitemaps))


def whole_escapes(text: str) -> str:
    """A path or pattern in which every "%" begins an escape: where one does not, what is read once and what is read again differ. Both
    sides of a comparison are to be written so."""
    return _STRAY.sub("%25", text) if "%" in text else text


def _lines(text: str) -> Iterator[tuple[Field, str]]:
    for line in text.split("\n"):
        found = _LINE.match(line.partition("#")[0].strip())
        if found is not None:
            which = next(number for number in range(1, len(_FIELDS) + 1) if found[number] is not None)
            yield _FIELDS[which - 1], found[len(_FIELDS) + 1]


def _names(value: str) -> set[str]:
    """The agents that a User-agent line names: "*", or tokens without their versions and wildcards."""
    names = set()
    for word in _BETWEEN_NAMES.split(value.lower()):
        name = _NAME.match(word.strip("*"))
        if name is not None:
            names.add(name[0])
        elif word.startswith("*"):
            names.add("*")
    return names


class _Group:
    """All groups of one agent, while the file is read."""

    def __init__(self) -> None:
        self.met = False
        """Whether any line names the agent."""
        self.lines: list[str] = []
        self._holds = False
        """Whether the group that is being read is the agent's."""
        self._delays = False
        """Whether a delay at this place is."""
        self._last: Field = "disallow"

    def named(self, us: bool) -> None:
        """A User-agent line."""
        if self._last in ("allow", "disallow"):
            self._holds = False
        if self._last != "agent":
            self._delays = False
        self._holds |= us
        self._delays |= us
        self.met |= us
        self._last = "agent"

    def said(self, field: Field, value: str) -> None:
        """A rule or a delay."""
        if field in ("allow", "disallow") or self._last == "agent":
            self._last = field
        if value and (self._holds if field in ("allow", "disallow") else self._delays):
            self.lines.append(f"{field}: {whole_escapes(value.translate(_NOT_ENDS))}")
