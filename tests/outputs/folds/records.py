"""Records as a crawl might write them, and as it never would."""

from hypothesis import strategies as st

from schemas.fetched import Fetched, FetchResult, RobotsRules, Timings
from schemas.verdicts import Verdict

MONDAY = 1_750_000_000_000
"""A moment, milliseconds since 1970."""

servers = st.sampled_from(["a.test", "b.test", "c.test:8080", "d.test", "e.test"])
moments = st.one_of(
    st.integers(MONDAY, MONDAY + 20_000),
    st.integers(MONDAY, MONDAY + 30 * 86_400_000),
    st.integers(-5, 2**62),
)
counts = st.integers(-3, 100_000)

results = st.builds(
    FetchResult,
    path=st.sampled_from(["/", "/a", "/a/b", "/a/b/c?d=/e", "//", "/x/y/z/"]),
    outcome=st.sampled_from(
        ["ok", "redirect", "client-error", "timeout", "dns", "expired", "cancelled", "rate-limited"]
    ),
    scheme=st.sampled_from(["http", "https"]),
    status=st.one_of(st.sampled_from([0, 200, 301, 404, 503]), st.integers(-1, 5000)),
    started_ms=moments,
    timings=st.builds(Timings, total=counts),
    wire_bytes=counts,
    body_bytes=counts,
    truncated=st.sampled_from(["", "length"]),
    content_type=st.sampled_from(
        ["", "text/html; charset=utf-8", "TEXT/HTML", "image/png", "<script>", "a/" + "b" * 99]
    ),
    depth=st.integers(0, 9),
    visit=st.integers(0, 2),
)
robots = st.builds(
    RobotsRules,
    scheme=st.sampled_from(["http", "https"]),
    verdict=st.sampled_from(["rules", "allow-all", "unreachable"]),
    crawl_delay_ms=counts,
    fetched_ms=moments,
    sitemaps=st.just(("https://a.test/s.xml",)),
)
fetched = st.builds(
    Fetched,
    server=servers,
    lease=st.just("1-1"),
    kind=st.sampled_from(["pages", "pages", "pages", "robots"]),
    results=st.lists(results, max_size=3).map(tuple),
    robots=st.lists(robots, max_size=1).map(tuple),
)
verdicts = st.builds(
    Verdict,
    server=servers,
    kind=st.sampled_from(["refused", "given-up", "delayed"]),
    reason=st.sampled_from(["robots", "scope", "depth"]),
    url=st.sampled_from(["", "https://a.test/x", "https://b.test/xy", "https://b.test/x"]),
    count=counts,
    stage=st.sampled_from(["frontier", "extractor"]),
    decided_ms=moments,
)
records = st.lists(st.one_of(fetched, verdicts), max_size=10)


def page(path: str = "/", server: str = "a.test", at_ms: int = MONDAY, **fields: object) -> Fetched:
    """An order of one page that was answered with 200."""
    given: dict[str, object] = {"outcome": "ok", "status": 200, "scheme": "https", **fields}
    result = FetchResult(path=path, started_ms=at_ms, **given)  # type: ignore[arg-type]
    return Fetched(server=server, lease="1-1", results=(result,))
