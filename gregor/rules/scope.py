"""Which links belong to the crawl: their server, then a chain of small filters, of which those are asked that the configuration names.

Asked before ``discovered``: what lies outside is only counted. The frontier asks for the server once more, because a record may come from
anybody.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from gregor.config import Config
from gregor.config.sections import ScopeSection
from gregor.rules.answer import ALLOWED, UrlAnswer
from gregor.rules.hosts import servers_in_scope
from gregor.rules.patterns import any_of
from gregor.url.canonical import Url, UrlRefusal, split

HOST: Final = UrlAnswer(
    "scope-host", "its server is none of the scope's: crawl.scope, scope.hosts and scope.domains say which are"
)
PREFIX: Final = UrlAnswer("scope-prefix", "it begins with none of scope.prefixes")
INCLUDE: Final = UrlAnswer("scope-include", "none of scope.include is found in it")
EXCLUDE: Final = UrlAnswer("scope-exclude", "one of scope.exclude is found in it")
EXTENSION: Final = UrlAnswer("extension", "its ending is among scope.refuse_extensions")
SERVER: Final = UrlAnswer("scope", HOST.detail)
"""The frontier's word for HOST: what came past the extractor is counted by itself."""

Refuses = Callable[[str, str], bool]
"""Whether a URL is refused; it is given as the whole text, and as path and query."""


class LinkScope:
    """The scope that the configuration, its seeds, and the servers that seeds were redirected to describe. Never changes."""

    def __init__(self, config: Config, redirected: Iterable[str] = ()) -> None:
        self._config = config
        self._redirected = frozenset(redirected)
        self.holds: Final = servers_in_scope(config, self._redirected)
        """Whether a server belongs to the crawl."""
        self._filters = _filters(config.scope)
        self._excluded = _exclude(config.scope.exclude)

    def judge(self, url: Url) -> UrlAnswer:
        """Of a link."""
        if not self.holds(url.server):
            return HOST
        if self._filters:
            text, path = url.text, url.path
            for answer, refuses in self._filters:
                if refuses(text, path):
                    return answer
        return ALLOWED

    def judge_requisite(self, url: Url) -> UrlAnswer:
        """Of what a page in scope needs to be shown: only what is excluded by name is refused."""
        return EXCLUDE if self._excluded is not None and self._excluded(url.text, url.path) else ALLOWED

    def with_server(self, server: str) -> "LinkScope":
        """The same, and this server; not its domain, which no seed named."""
        return LinkScope(self._config, self._redirected | {server})


def widens(kind: str, hops: int) -> bool:
    """Whether a discovery brings its server into the scope: a seed, or where a seed was redirected to."""
    return kind == "seed" or (kind == "redirect" and hops == 0)


def _filters(settings: ScopeSection) -> tuple[tuple[UrlAnswer, Refuses], ...]:
    """In the order in which they have the word."""
    chain = (
        (PREFIX, _prefixes(settings.prefixes)),
        (INCLUDE, _include(settings.include)),
        (EXCLUDE, _exclude(settings.exclude)),
        (EXTENSION, _extensions(settings.refuse_extensions)),
    )
    return tuple([(answer, refuses) for answer, refuses in chain if refuses is not None])


def _prefixes(prefixes: Sequence[str]) -> Refuses | None:
    wanted = tuple(filter(None, map(_canonical_prefix, prefixes)))
    return (lambda text, path: not text.startswith(wanted)) if wanted else None


def _include(patterns: Sequence[str]) -> Refuses | None:
    found = any_of(patterns)
    return (lambda text, path: not found(text)) if patterns else None


def _exclude(patterns: Sequence[str]) -> Refuses | None:
    found = any_of(patterns)
    return (lambda text, path: found(text)) if patterns else None


def _extensions(extensions: Sequence[str]) -> Refuses | None:
    endings = tuple([f".{extension.lower()}" for extension in extensions])
    return (lambda text, path: path.partition("?")[0].lower().endswith(endings)) if endings else None


def _canonical_prefix(prefix: str) -> str:
    """A prefix as canonical URLs begin; "https://example.com" means all of that host and not example.com.evil."""
    url = split(prefix)
    return "" if isinstance(url, UrlRefusal) else url.text
