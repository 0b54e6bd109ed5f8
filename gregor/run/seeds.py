"""From the user's seeds to records of ``discovered``."""

from collections.abc import Sequence
from typing import Final

from gregor.errors import UsageError
from gregor.rules.answer import UrlAnswer
from gregor.rules.canonical import canonical_seed
from gregor.runtime.transport.port import Output, Transport
from gregor.url.canonical import CanonicalRules, Url
from gregor.url.fingerprint import Placement
from schemas.codec import encode
from schemas.discovered import Discovered

AT_ONCE: Final = 10_000
"""Seeds of one transaction, which has to end within its time-out."""


def parse_seeds(seeds: Sequence[str], rules: CanonicalRules) -> list[Url]:
    """The seeds as canonical URLs, by the same rules as links, so that a link back to a seed is known. A seed without a scheme is
    tried as https; one that cannot be read is the user's mistake."""
    urls = []
    for seed in seeds:
        url = canonical_seed(seed, rules)
        if isinstance(url, UrlAnswer):
            raise UsageError(f"expected a seed such as https://example.com/, found {seed!r} ({url.reason})")
        urls.append(url)
    return urls


def seed_outputs(urls: Sequence[Url], placement: Placement, now_ms: int) -> list[Output]:
    """Depth 1, no referrer; the seed's number is its place in the user's list."""
    return [
        Output(
            "discovered",
            placement.partition(url.server),
            url.server.encode(),
            encode(
                Discovered(
                    server=url.server,
                    paths=(url.path,),
                    scheme="http" if url.scheme == "http" else "https",
                    kind="seed",
                    seed=number,
                    found_ms=now_ms,
                )
            ),
        )
        for number, url in enumerate(urls)
    ]


def write_seeds(transport: Transport, urls: Sequence[Url], placement: Placement, now_ms: int) -> None:
    """Into ``discovered``. Written again they are known already, so that a call that failed half way can be made again."""
    outputs = seed_outputs(urls, placement, now_ms)
    for begin in range(0, len(outputs), AT_ONCE):
        transport.append(outputs[begin : begin + AT_ONCE])
