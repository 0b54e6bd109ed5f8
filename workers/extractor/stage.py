"""The extractor as a stage: responses in, the links that they hold out, grouped by server."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gregor.config import Config
from gregor.stage.contract import NOTHING, Decode, Received, Work
from gregor.state.packed import Mutation
from gregor.transport.port import Assignment, Output, StageSpec
from gregor.url.domain import registered_domain
from gregor.url.fingerprint import Placement
from gregor.url.links import join_many
from schemas.codec import encode
from schemas.control import decode_control
from schemas.discovered import Discovered, LinkKind
from schemas.pages import PageFacts, decode_facts
from workers.extractor import links
from workers.extractor.scope import scope_of

SPEC: Final = StageSpec(
    name="extractor",
    inputs=("pages",),
    broadcast=("control",),
    outputs=("discovered", "items", "verdicts", "dead-letters"),
)

MOST_REDIRECTS: Final = 5

_KINDS: Final[Mapping[str, LinkKind]] = {
    "redirect": "redirect",
    "canonical": "canonical",
    "alternate": "alternate",
    "refresh": "refresh",
}


class ExtractorStage:
    """Stateless: what a page gives depends on the page and the configuration alone."""

    spec: StageSpec = SPEC
    decoders: Mapping[str, Decode] = {
        "pages": lambda record: decode_facts(record.header),
        "control": lambda record: decode_control(record.value),
    }

    def __init__(self, config: Config, placement: Placement) -> None:
        self._config = config
        self._placement = placement
        self._in_scope = scope_of(config)

    def assigned(self, partition: int, assignment: Assignment) -> None:
        """Every partition is like the others."""

    def revoked(self, partitions: frozenset[int]) -> None:
        """Nothing is kept of a partition."""

    def instruct(self, received: Sequence[Received]) -> None:
        """Nothing of ``control`` concerns links."""

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        outputs = []
        urls = 0
        for one in received:
            for found in self._links(one.value, one.record.value or b"", now_ms):
                partition = self._placement.partition(found.server)
                outputs.append(Output("discovered", partition, found.server.encode(), encode(found)))
                urls += len(found.paths)
        return Work(outputs, urls)

    def _links(self, facts: PageFacts, body: bytes, now_ms: int) -> Iterator[Discovered]:
        """One record for each server, scheme and kind of link that the page holds."""
        if facts.kind != "pages":
            return
        location = _header(facts, "location")
        if 300 <= facts.status < 400 and location:
            page = links.PageLinks(facts.url, [links.redirect(location)])
        elif facts.status == 200:
            page = links.extract(body, _header(facts, "content-type"), facts.url)
            if page.robots.nofollow:
                return
        else:
            return
        joined = join_many(page.base, [link.href for link in page.links])
        for server, targets in joined.servers.items():
            if not self._in_scope(server):
                continue
            groups: dict[tuple[str, LinkKind], list[int]] = {}
            for number, (scheme, _, index, _) in enumerate(targets):
                groups.setdefault((scheme, _KINDS.get(page.links[index].kind, "link")), []).append(number)
            for (scheme, kind), numbers in groups.items():
                if kind == "redirect" and facts.redirects >= MOST_REDIRECTS:
                    continue
                chosen = [targets[number] for number in numbers]
                yield _record(facts, page, server, scheme, kind, chosen, now_ms)

    def tick(self, now_ms: int) -> Work:
        return NOTHING

    def next_due_ms(self) -> int | None:
        return None

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def prepare(self) -> Sequence[Output]:
        return ()

    def committed(self) -> None:
        """Nothing is kept."""

    def dropped(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is held."""


def _record(
    facts: PageFacts,
    page: links.PageLinks,
    server: str,
    scheme: str,
    kind: LinkKind,
    chosen: Sequence[tuple[str, str, int, int]],
    now_ms: int,
) -> Discovered:
    internal = registered_domain(server) == registered_domain(facts.server)
    flags = tuple(page.links[index].rel for _, _, index, _ in chosen)
    counts = tuple(count for _, _, _, count in chosen)
    is_redirect = kind == "redirect"
    return Discovered(
        server=server,
        paths=tuple(path for _, path, _, _ in chosen),
        scheme="http" if scheme == "http" else "https",
        kind=kind,
        flags=flags if any(flags) else (),
        counts=counts if any(count != 1 for count in counts) else (),
        depth=facts.depth if is_redirect else facts.depth + 1 if internal else 1,
        hops=facts.hops + (not is_redirect),
        off_site=facts.off_site + (not internal),
        redirects=facts.redirects + 1 if is_redirect else 0,
        seed=facts.seed,
        internal=internal,
        referrer=facts.url,
        referrer_lease=facts.lease,
        found_ms=now_ms,
    )


def _header(facts: PageFacts, name: str) -> str:
    return next((value for key, value in facts.response_headers if key.lower() == name), "")
