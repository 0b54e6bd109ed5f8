"""Topic ``pages``: one HTTP response of any status; the value is the content-decoded body, ONE header holds its facts as JSON."""

from typing import Final, Literal

from msgspec import Struct

from schemas.codec import decoder
from schemas.fetched import Truncation
from schemas.schedule import OrderKind

FACTS_HEADER: Final = "facts"


class PageFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that is known of a response beside its body."""

    server: str
    path: str
    lease: str
    status: int
    scheme: Literal["http", "https"] = "https"
    kind: OrderKind = "pages"
    fetched_ms: int = 0
    """When the request started."""
    address: str = ""
    protocol: str = "HTTP/1.1"
    request_headers: tuple[tuple[str, str], ...] = ()
    """As sent, in order; bytes beyond ASCII as Latin-1."""
    response_headers: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    wire_bytes: int = 0
    """Length of the body as it came, before content decoding."""
    body_bytes: int = 0
    truncated: Truncation = ""
    digest: str = ""
    """xxh3_128 of the decoded body in hex."""
    previous_digest: str = ""
    depth: int = 1
    hops: int = 0
    off_site: int = 0
    redirects: int = 0
    seed: int = 0
    visit: int = 0
    attempt: int = 1

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.server}{self.path}"


decode_facts = decoder(PageFacts)
