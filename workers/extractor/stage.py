"""The extractor as a stage: responses in; links that the frontier does not have, items, verdicts out.

What the topics carry depends on the pages and the configuration alone; what the stage remembers (the filter, the links as
they are written) only saves messages. Everything that it remembers of a transaction is settled by ``committed`` or ``dropped``.

That a page is there says that its URL was fetched, so ``pages`` itself moves URLs from visiting to visited; ``fetched``, which
the extractor would have to read for nothing more than URLs without any response, is not an input.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from gregor.config import Config
from gregor.config.problems import printable
from gregor.rules.patterns import any_of
from gregor.rules.scope import LinkScope
from gregor.runtime.loops.contract import Decode, Received, Work
from gregor.runtime.metrics.metric_defs import REFUSALS
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures
from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.port import Assignment, Output, StageSpec
from gregor.url.domain import registered_domain
from gregor.url.fingerprint import Placement
from schemas.codec import encode
from schemas.control import SeedScope, decode_control
from schemas.items import Item
from schemas.pages import PageFacts, decode_facts
from schemas.sites import Site, decode_site
from workers.extractor import readers
from workers.extractor.child import PageTask
from workers.extractor.filter.cache import UrlFilter
from workers.extractor.filter.lists import FilterSettings
from workers.extractor.filter.repetitions import Repetitions
from workers.extractor.filter.store import GroupStore, StoreNote
from workers.extractor.guarded import Raised, guarded
from workers.extractor.items import Taken
from workers.extractor.linker import LinkCounts, Linker
from workers.extractor.metrics import FILTER_LINKS, FILTER_URLS, READER_INFO
from workers.extractor.pool import Crashed, Pool, TimedOut
from workers.extractor.reading import Reading, ReadSettings, read
from workers.extractor.routing import decode_row, routing_of
from workers.extractor.tally import Example, RefusalTally
from workers.extractor.work_split import LARGE, share

_log: Final = logging.getLogger("gregor.extractor")

SPEC: Final = StageSpec(
    name="extractor",
    inputs=("pages",),
    broadcast=("control", "sites"),
    outputs=("discovered", "items", "verdicts", "control", "dead-letters"),
)

PAGE_RULE: Final = "page"
FEW_URLS: Final = 2_000
"""As many URLs, sent and not seen as pages yet, are fetched within a second or two."""
WORTH_A_PROCESS: Final = 64 * 1024 * 1024
"""Bytes of large pages that take as long to read as a process takes to start."""
_NO_LIMIT: Final = 0xFFFF
_ANY_SERVER: Final = "example.com"


class ExtractorStage:
    """``folder`` is where the filter's store lives (None: memory only); ``warm`` says that it may be used again after a restart,
    which is true only where it cannot outlive the crawl's own log."""

    spec: StageSpec = SPEC
    decoders: Mapping[str, Decode] = {
        "pages": lambda record: decode_facts(record.header),
        "control": lambda record: decode_control(record.value),
        "sites": lambda record: decode_site(record.value),
    }

    def __init__(self, config: Config, placement: Placement, folder: Path | None = None, warm: bool = False) -> None:
        self._config = config
        self._placement = placement
        self._routing = routing_of(config, placement)
        partitions = config.partitions.partitions
        self.decoders = {**self.decoders, "sites": lambda record: decode_row(record, partitions)}
        self._warm = warm
        self._store = _open_store(config, folder, warm)
        settings = FilterSettings(
            capacity=config.filter.capacity, exchange=config.filter.exchange, store_urls=config.filter.store_urls
        )
        self.known: Final = UrlFilter(settings, self._store)
        self.tally: Final = RefusalTally(placement, config.config_version)
        self._linker = Linker(config, LinkScope(config), self.known, self.tally)
        self._repetitions = Repetitions(config.filter.flush_s, config.filter.flush_urls, self._deepest)
        self._settings = ReadSettings.of(config)
        self._has_items = any_of([rule.match for rule in config.item])
        processes = config.extract.processes
        self._pool = Pool(max(1, processes), config) if processes or config.item else None
        self._positions: dict[int, int] = {}
        self._pending_positions: dict[int, int] = {}
        self._started = False
        self._now_ms = 0
        self._pages = 0
        self._large_bytes = 0
        # The first page is not to wait until the list of public suffixes has been read.
        registered_domain(_ANY_SERVER)

    def assigned(self, partition: int, assignment: Assignment) -> None:
        self._positions[partition] = assignment.positions["pages"].offset

    def revoked(self, partitions: frozenset[int]) -> None:
        """What was committed stays known to the frontier, whoever reads the pages from now on."""
        for partition in partitions:
            self._positions.pop(partition, None)

    def on_broadcast(self, received: Sequence[Received]) -> None:
        self._routing.hear([one.value for one in received if type(one.value) is Site])
        scope = self._linker.scope
        for one in received:
            if isinstance(one.value, SeedScope) and not scope.holds(one.value.server):
                scope = scope.with_server(one.value.server)
        if scope is not self._linker.scope:
            self._linker.rescope(scope)

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        if not self._started:
            self._start()
        self._now_ms = now_ms
        outputs: list[Output] = []
        urls = 0
        for one, reading, taken in self._readings(received):
            facts: PageFacts = one.value
            self._pending_positions[one.record.partition] = one.record.offset + 1
            if reading is None:
                continue
            found = guarded(facts.url, partial(self._linked, facts, reading, taken, outputs, now_ms))
            if isinstance(found, Raised):
                self._linker.abandon()
                self._stopped(facts, "links", found)
            else:
                urls += found
        self._pages += len(received)
        # Fetchers that are about to run out of orders wait for what was found here.
        return Work(outputs, urls, urgent=bool(outputs) and self.known.counts.sent - self._pages < FEW_URLS)

    def _linked(self, facts: PageFacts, reading: Reading, taken: Taken, outputs: list[Output], now_ms: int) -> int:
        """Adds what a page gives, all of it or nothing but a change of scope, which holds already; gives the number of its links."""
        outputs += self._seed_scope(facts, reading, now_ms)
        records, counts = self._linker.link(facts, reading, taken.links, now_ms)
        items = list(self._items(facts, reading, taken, counts))
        outputs += [*self._routing.outputs(records), *items]
        self._linker.settle()
        return counts.found

    def _readings(self, received: Sequence[Received]) -> Iterator[tuple[Received, Reading | None, Taken]]:
        """What each page holds; None when it could not be read."""
        readings = self._read(received)
        with_items = [
            number
            for number, (one, reading) in enumerate(zip(received, readings, strict=True))
            if isinstance(reading, Reading) and self._wants_items(one.value, reading)
        ]
        taken: dict[int, Taken] = {}
        if self._pool is not None and with_items:
            answers = self._pool.run([_task("items", received[number]) for number in with_items], Taken)
            for number, answer in zip(with_items, answers, strict=True):
                if isinstance(answer, Taken):
                    taken[number] = answer
                else:
                    self._stopped(received[number].value, "items", answer)
        for number, (one, reading) in enumerate(zip(received, readings, strict=True)):
            if isinstance(reading, Reading):
                yield one, reading, taken.get(number, _NOTHING_TAKEN)
            else:
                self._stopped(one.value, "links", reading)
                yield one, None, _NOTHING_TAKEN

    def _read(self, received: Sequence[Received]) -> Sequence[Reading | TimedOut | Crashed | Raised]:
        def here(number: int) -> Reading | Raised:
            one = received[number]
            return guarded(one.value.url, partial(read, one.value, one.record.value or b"", self._settings))

        def elsewhere(number: int) -> Reading | TimedOut | Crashed:
            assert self._pool is not None
            (answer,) = self._pool.run([_task("reading", received[number])], Reading)
            return answer

        sizes = [len(one.record.value or b"") for one in received]
        self._large_bytes += sum(size for size in sizes if size >= LARGE)
        return share(sizes, here, elsewhere, self.helpers)

    def helpers(self) -> int:
        """Processes that could read a large page now. None is started before there has been enough for one to do."""
        # What the native reader takes for a page, sending it to another process takes as well.
        worth = readers.READER == "python" and self._large_bytes >= WORTH_A_PROCESS
        wanted = self._config.extract.processes if worth else 0
        return min(wanted, self._pool.ready(wanted)) if self._pool is not None and wanted else 0

    def _wants_items(self, facts: PageFacts, reading: Reading) -> bool:
        answered = facts.kind == "pages" and 200 <= facts.status < 300
        return answered and not facts.undecoded and not reading.robots.noindex and self._has_items(facts.url)

    def _stopped(self, facts: PageFacts, what: str, answer: TimedOut | Crashed | Raised) -> None:
        if isinstance(answer, TimedOut):
            reason, detail = "time", f"{what} took more than {answer.seconds} s"
        elif isinstance(answer, Crashed):
            reason, detail = "crash", f"the process that read {what} ended with {answer.code}"
        else:
            reason, detail = "crash", answer.error
        self.tally.add(facts.server, "failed", f"{what}-{reason}", 1, Example(facts.url, facts.lease, detail))

    def _seed_scope(self, facts: PageFacts, reading: Reading, now_ms: int) -> Iterator[Output]:
        """A seed's redirect takes the scope along: www.example.com in place of example.com must not end a crawl."""
        if facts.hops or facts.kind != "pages":
            return
        # Also the page behind the redirect tells, in case that another process saw the redirect a moment ago.
        for server in (facts.server, self._linker.redirect_server(facts, reading)):
            if server and not self._linker.scope.holds(server):
                told = printable(server)
                _log.info("%s belongs to the scope from now on: a seed is there, or was redirected there", told)
                self._linker.rescope(self._linker.scope.with_server(server))
                record = SeedScope(server=server, seed=facts.seed, url=facts.url, since_ms=now_ms)
                yield Output("control", 0, f"scope:{server}".encode(), encode(record))

    def _items(self, facts: PageFacts, reading: Reading, taken: Taken, counts: LinkCounts) -> Iterator[Output]:
        for failure in taken.failures:
            example = Example(facts.url, facts.lease, failure.detail)
            self.tally.add(facts.server, "failed", failure.reason, failure.count, example)
        for item in taken.items:
            yield self._item(facts, item.rule, item.number, item.fields)
        wanted = self._config.extract.page_facts
        if wanted and reading.form == "html" and not reading.robots.noindex:
            yield self._item(facts, PAGE_RULE, 0, _page_facts(wanted, reading, counts))

    def _item(self, facts: PageFacts, rule: str, number: int, fields: dict[str, Any]) -> Output:
        item = Item(
            url=facts.url,
            rule=rule,
            fields=fields,
            lease=facts.lease,
            number=number,
            fetched_ms=facts.fetched_ms,
            config_version=self._config.config_version,
        )
        return Output("items", self._placement.partition(facts.server), facts.server.encode(), encode(item))

    def tick(self, now_ms: int) -> Work:
        self._now_ms = now_ms
        return Work(self._routing.outputs(list(self._repetitions.report(now_ms))))

    def drain(self, now_ms: int) -> Work:
        """The counts that the next report would have held."""
        return Work(self._routing.outputs(list(self._repetitions.flush(now_ms))))

    def next_due_ms(self) -> int | None:
        return self._repetitions.next_due_ms()

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def figures(self) -> Figures:
        counts = self.known.counts
        links = {"hit": counts.hits, "store_hit": counts.store_hits, "miss": counts.sent, "nearer": counts.sent_nearer}
        return {
            FILTER_LINKS: {(name,): count for name, count in links.items()},
            FILTER_URLS: {NO_LABELS: self.known.size},
            READER_INFO: {(readers.READER,): 1},
            REFUSALS: self.tally.totals.copy(),
        }

    def prepare(self) -> Sequence[Output]:
        return list(self.tally.outputs(self._now_ms))

    def committed(self) -> None:
        self._routing.committed()
        self._repetitions.committed()
        self._repetitions.add(self.known.committed())
        self.tally.committed()
        self._positions.update(self._pending_positions)
        self._pending_positions = {}

    def dropped(self) -> None:
        self._routing.dropped()
        self._repetitions.dropped()
        self.known.dropped()
        self.tally.dropped()
        self._pending_positions = {}

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        splits = self.known.finish()
        if self._store is not None:
            if self._warm:
                self._store.put_mark(StoreNote(self._config.config_version, self._positions, splits))
            self._store.close()

    def _deepest(self, server: str) -> int | None:
        """Requisites from outside of the scope are fetched, but nothing more is told of their servers."""
        return (self._config.for_server(server).max_depth or _NO_LIMIT) if self._linker.scope.holds(server) else None

    def _start(self) -> None:
        """Before the first page: what the filter knew when this crawl was last stopped, if it is still that crawl."""
        self._started = True
        if self._store is None or not self._warm:
            return
        mark = self._store.take_mark()
        if mark is not None and (mark.config_version, mark.positions) == (self._config.config_version, self._positions):
            self.known.start(self._config.filter.start, mark.splits)
        else:
            self._store.empty()


_NOTHING_TAKEN: Final = Taken()


def _open_store(config: Config, folder: Path | None, warm: bool) -> GroupStore | None:
    if folder is None or not config.filter.store_urls or not config.filter.capacity:
        return None
    if not warm:
        shutil.rmtree(folder, ignore_errors=True)
    return GroupStore(folder)


def _task(want: str, one: Received) -> PageTask:
    return PageTask("items" if want == "items" else "reading", one.record.header or b"", one.record.value or b"")


def _page_facts(wanted: Sequence[str], reading: Reading, counts: LinkCounts) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if "title" in wanted:
        fields["title"] = reading.title
    if "text" in wanted:
        fields["text"] = reading.page_text.text
    if "language" in wanted:
        fields["language"] = reading.page_text.language
    if "links" in wanted:
        fields["links"] = {
            "found": counts.found,
            "internal": counts.internal,
            "external": counts.external,
            "refused": counts.refused,
            "canonical": counts.canonical,
        }
    return fields
