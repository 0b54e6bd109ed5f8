"""Seeds become the URLs that links to the same pages become."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.errors import UsageError
from gregor.run.seeds import parse_seeds, seed_outputs
from gregor.url.canonical import CanonicalRules, UrlRefusal, join
from gregor.url.fingerprint import HashPlacement
from schemas.discovered import decode_discovered
from tests.url.strategies import absolute

RULES = st.builds(
    CanonicalRules,
    max_length=st.sampled_from((64, 2048)),
    drop_session_ids=st.booleans(),
    drop_tracking=st.booleans(),
    sort_query=st.booleans(),
)
ALL_RULES = CanonicalRules(drop_session_ids=True, drop_tracking=True, sort_query=True)


@given(absolute, RULES)
def test_a_seed_is_canonicalised_as_a_link_to_it_would_be(seed: str, rules: CanonicalRules) -> None:
    link = join("http://elsewhere.example/page", seed, rules)
    if isinstance(link, UrlRefusal):
        with pytest.raises(UsageError, match=link.reason):
            parse_seeds([seed], rules)
    else:
        assert parse_seeds([seed], rules) == [link]


def test_the_configured_rules_reach_the_record() -> None:
    seeds = parse_seeds(["HTTP://Example.com/a;jsessionid=1?z=2&utm_source=x&b=1#top", "example.org"], ALL_RULES)
    placement = HashPlacement(4096, 8, "server")
    found = [decode_discovered(output.value) for output in seed_outputs(seeds, placement, 5)]
    assert [(one.scheme, one.server, one.paths, one.seed) for one in found] == [
        ("http", "example.com", ("/a?b=1&z=2",), 0),
        ("https", "example.org", ("/",), 1),
    ]
