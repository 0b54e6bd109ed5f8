"""The rules of canonicalisation that a configuration asks for."""

from gregor.config.sections import Url as UrlSettings
from gregor.url.canonical import CanonicalRules


def rules_of(settings: UrlSettings) -> CanonicalRules:
    return CanonicalRules(
        max_length=settings.max_length,
        drop_session_ids=settings.drop_session_ids,
        drop_tracking=settings.drop_tracking,
        sort_query=settings.sort_query,
    )
