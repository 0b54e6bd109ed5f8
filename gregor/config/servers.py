"""Which settings hold for one server: the sections' values, overridden by the [[server]] tables that match its name."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from re import Pattern

from msgspec import Struct
from msgspec.structs import replace

from gregor.config.sections import ServerRule, Settings

REMEMBERED_SERVERS = 65_536
_PORT = re.compile(r":\d+$")
# The colons of an IPv6 address are within its brackets.
_WITH_PORT = re.compile(r"(?:^[^\[]*|\]):[\d*?]+$")
# DNS knows one host where the text has two; canonical servers have none of these.
_DOTS = re.compile(r"\.+(?=(?::[\d*?]+)?$)")
OVERRIDDEN = ("delay_s", "delay_factor", "max_depth", "budget", "max_body_bytes", "obey_robots")


class ServerSettings(Struct, frozen=True, kw_only=True):
    """What holds for one server."""

    delay_s: float
    delay_factor: float
    max_depth: int
    budget: int
    max_body_bytes: int
    obey_robots: bool
    headers: Mapping[str, str]


def glob(pattern: str) -> Pattern[str]:
    """A pattern of * and ? as a regular expression; other characters, brackets of IPv6 included, stand for themselves.

    Each star takes the nearest match and never gives it back, so the time is linear in the name whatever the pattern.
    """

    def literal(text: str) -> str:
        return "".join("." if char == "?" else re.escape(char) for char in text)

    head, *rest = pattern.lower().split("*")
    if not rest:
        return re.compile(literal(head), re.DOTALL)
    *middle, tail = rest
    between = "".join(f"(?>.*?{literal(part)})" for part in middle if part)
    return re.compile(f"{literal(head)}{between}.*{literal(tail)}", re.DOTALL)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a canonical server is meant by an entry of the configuration. One that names no port means every port of its hosts."""
    named = _DOTS.sub("", pattern)
    wanted = glob(named)
    if _WITH_PORT.search(named):
        return lambda server: wanted.fullmatch(server) is not None
    return lambda server: wanted.fullmatch(_PORT.sub("", server)) is not None


def settings_by_server(settings: Settings) -> Callable[[str], ServerSettings]:
    """The function from server name to its settings; it remembers what it answered."""
    everyone = ServerSettings(
        delay_s=settings.fetch.delay_s,
        delay_factor=settings.fetch.delay_factor,
        max_depth=settings.crawl.max_depth,
        budget=settings.crawl.server_budget,
        max_body_bytes=settings.fetch.max_body_bytes,
        obey_robots=settings.robots.obey,
        headers={},
    )
    if not settings.server:
        return lambda server: everyone
    matchers = [matcher(rule.match) for rule in settings.server]

    # Servers are many and combinations of rules few: those under the same rules share one object.
    @lru_cache(maxsize=1024)
    def combined(indexes: tuple[int, ...]) -> ServerSettings:
        found = everyone
        for index in indexes:
            found = _override(found, settings.server[index])
        return found

    @lru_cache(maxsize=REMEMBERED_SERVERS)
    def for_server(server: str) -> ServerSettings:
        return combined(tuple(index for index, matches in enumerate(matchers) if matches(server)))

    return for_server


def _override(settings: ServerSettings, rule: ServerRule) -> ServerSettings:
    own = {name: getattr(rule, name) for name in OVERRIDDEN}
    return replace(
        settings,
        **{name: value for name, value in own.items() if value is not None},
        headers={**settings.headers, **rule.headers},
    )
