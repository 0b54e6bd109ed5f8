"""The canonical form of what people and configurations write: a URL, or the reason why there is none."""

from typing import Final

from gregor.config.sections import UrlSection as UrlSettings
from gregor.rules.answer import UrlAnswer
from gregor.url.canonical import (
    BASE,
    CREDENTIALS,
    DEFAULT_RULES,
    INVALID,
    SCHEME,
    TOO_LONG,
    CanonicalRules,
    Url,
    UrlRefusal,
    split,
)

REFUSALS: Final = {
    SCHEME: UrlAnswer(SCHEME, "its scheme is neither http nor https"),
    INVALID: UrlAnswer(INVALID, "it is no URL"),
    CREDENTIALS: UrlAnswer(CREDENTIALS, "it holds a user name or password"),
    TOO_LONG: UrlAnswer(TOO_LONG, "it is longer than url.max_length"),
    BASE: UrlAnswer(BASE, "it is not absolute"),
}
LINK_REFUSALS: Final = {reason: UrlAnswer(f"url-{reason}", answer.detail) for reason, answer in REFUSALS.items()}
"""The same of links, as counters and verdicts name them."""
FOREIGN_SERVER: Final = UrlAnswer(INVALID, "its server is not spelt as a canonical URL spells one")
"""Of a record that somebody else wrote: our own hold canonical URLs."""


def rules_of(settings: UrlSettings) -> CanonicalRules:
    """The rules of canonicalisation that a configuration asks for."""
    return CanonicalRules(
        max_length=settings.max_length,
        drop_session_ids=settings.drop_session_ids,
        drop_tracking=settings.drop_tracking,
        sort_query=settings.sort_query,
    )


def canonical_url(text: str, rules: CanonicalRules = DEFAULT_RULES) -> Url | UrlAnswer:
    """Of an absolute URL."""
    url = split(text, rules)
    return REFUSALS[url.reason] if isinstance(url, UrlRefusal) else url


def canonical_seed(text: str, rules: CanonicalRules = DEFAULT_RULES) -> Url | UrlAnswer:
    """The same of a seed, which without a scheme is meant for https."""
    return canonical_url(text if "://" in text else f"https://{text}", rules)
