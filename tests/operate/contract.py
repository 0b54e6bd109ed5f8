"""What operating a crawl promises on every engine; each engine's test file derives from it and gives a ``transport``."""

import time

import pytest
from msgspec.structs import replace

from gregor.config import Config
from gregor.config.sections import ArchiveSection, CrawlSection
from gregor.errors import UsageError
from gregor.operate import trimming
from gregor.operate.active_stages import stages_of
from gregor.operate.commands import PutBack, carry_out, trim_of
from gregor.operate.config_history import recall_config, remember
from gregor.operate.control_state import control_state
from gregor.operate.dead_letters import batches, letter_at, put_back, read_dead_letters
from gregor.runtime.loops.decode import dead_letter
from gregor.runtime.transport.port import Output, Record, Transport
from schemas.control import Pause
from tests.operate.desk import SPECS, pass_all

REQUIRED = trimming.readers_of({spec.name: spec.inputs for spec in SPECS})
LATER = 10**15
"""A time after everything that a test writes."""


def broken(number: int, topic: str = "discovered", value: bytes | None = b"{", key: bytes = b"a.example") -> Record:
    return Record(topic, 1, number, key, value, None, 0)


class OperateContract:
    """Derive, and give the fixture ``transport``: a crawl's topics of two partitions, empty."""

    @pytest.fixture
    def transport(self) -> Transport:
        raise NotImplementedError

    def test_the_latest_word_about_a_pause_counts(self, transport: Transport) -> None:
        for pause in (
            Pause(paused=True, by="me"),
            Pause(paused=True, server="a.example"),
            Pause(paused=True, server="b.example"),
            Pause(paused=False, server="a.example"),
            Pause(paused=False),
        ):
            carry_out(pause, transport)
        now = control_state(transport)
        assert now.crawl is None
        assert list(now.servers) == ["b.example"]
        carry_out(Pause(paused=True, by="me"), transport)
        assert control_state(transport).crawl == Pause(paused=True, by="me")

    def test_letters_are_put_back_once_however_often_it_is_asked_for(self, transport: Transport) -> None:
        records = [broken(5), broken(6, value=b"\xff\x00"), replace(broken(7, key=b"\xfea"), header=b"{\xff}")]
        transport.append([dead_letter(record, "why", "frontier", 3) for record in records])
        listed = list(read_dead_letters(transport))
        assert [(one.facts.offset, one.facts.reason, one.put_back) for one in listed] == [
            (5, "why", False),
            (6, "why", False),
            (7, "why", False),
        ]
        numbers = [one.number for one in listed]
        assert put_back(transport, numbers[1:], 4) == numbers[1:]
        assert put_back(transport, numbers, 4) == numbers[:1]
        carry_out(PutBack(numbers=tuple(numbers)), transport)
        written = [(r.key, r.value, r.header) for r in transport.read("discovered", 1, 0)]
        assert written == [(r.key, r.value, r.header) for r in (*records[1:], records[0])]
        assert [len(part) for part in batches(replace(one, number=5) for one in listed * 700)] == [1000, 1000, 100]
        assert [one.put_back for one in read_dead_letters(transport)] == [True, True, True]
        assert [one.number for one in read_dead_letters(transport)] == numbers, "receipts are no letters"

    def test_a_record_that_both_its_readers_could_not_read_is_put_back_once(self, transport: Transport) -> None:
        page = broken(5, topic="pages")
        transport.append([dead_letter(page, "why", stage, 3) for stage in ("extractor", "archiver")])
        numbers = [one.number for one in read_dead_letters(transport)]
        assert put_back(transport, numbers[:1], 4) == numbers[:1]
        assert put_back(transport, numbers, 4) == []
        assert [record.value for record in transport.read("pages", 1, 0)] == [page.value]
        transport.append([dead_letter(page, "why", "archiver", 5)])
        assert [one.put_back for one in read_dead_letters(transport)] == [True, True, True], (
            "a reader that met it later gets it too"
        )

    def test_a_number_without_a_letter_is_refused_and_nothing_is_written(self, transport: Transport) -> None:
        transport.append([dead_letter(broken(1), "why", "frontier", 3)])
        number = next(read_dead_letters(transport)).number
        for wrong in (-1, 10_000, number + 1):
            with pytest.raises(UsageError, match=f"found {wrong}; `gregor dead-letters` lists them"):
                put_back(transport, [number, wrong], 4)
        assert list(transport.read("discovered", 1, 0)) == []

    def test_what_cannot_be_put_back_says_why(self, transport: Transport) -> None:
        cases = [
            (broken(1, value=None), "the record had no value"),
            (broken(1, topic="nonsense"), "its topic 'nonsense' is none of ours"),
            (broken(1, key=bytes(20_000)), "was shortened"),
        ]
        transport.append([dead_letter(record, "why", "frontier", 3) for record, _ in cases])
        for listed, (record, why) in zip(list(read_dead_letters(transport)), cases, strict=True):
            letter, value = letter_at(transport, listed.number)
            assert value == (record.value or b"")
            with pytest.raises(UsageError, match=why):
                put_back(transport, [letter.number], 4)

    def test_what_a_reader_has_not_passed_is_never_trimmed(self, transport: Transport) -> None:
        transport.append([Output("pages", n % 2, b"", bytes(100), b"{}") for n in range(10)])
        assert [one.before for one in trimming.plan(transport, ["pages"], REQUIRED, LATER)] == [{}]
        readers = sorted(REQUIRED["pages"])
        for reader in readers:
            (plan,) = trimming.plan(transport, ["pages"], REQUIRED, LATER)
            assert plan.before == {}
            assert reader in plan.held_by
            pass_all(transport, reader)
        transport.append([Output("pages", 0, b"", b"new", b"{}")])
        (plan,) = trimming.plan(transport, ["pages"], REQUIRED, LATER)
        assert plan.held_by == tuple(readers)
        assert plan.records >= 10
        assert plan.bytes >= 10 * 100
        carry_out(trim_of(trimming.places([plan])), transport)
        assert [record.value for partition in (0, 1) for record in transport.read("pages", partition, 0)] == [b"new"]

    def test_what_is_younger_than_the_window_is_kept(self, transport: Transport) -> None:
        transport.append([Output("discovered", 0, b"", b"old"), Output("fetched", 0, b"", b"old")])
        time.sleep(0.05)
        moment = time.time_ns() // 1_000_000
        transport.append([Output("discovered", 0, b"", b"young")])
        pass_all(transport, "frontier")
        plans = trimming.plan(transport, ["discovered", "fetched"], REQUIRED, moment - 10)
        carry_out(trim_of(trimming.places(plans)), transport)
        assert [record.value for record in transport.read("discovered", 0, 0)] == [b"young"]
        assert list(transport.read("fetched", 0, 0)) == []

    def test_what_a_restore_or_a_person_needs_cannot_be_trimmed(self, transport: Transport) -> None:
        for topic in ("frontier-changelog", "control", "archive", "sites", "items", "dead-letters", "nonsense"):
            with pytest.raises(UsageError, match="expected topics among discovered"):
                trimming.plan(transport, [topic], REQUIRED, LATER)
        assert list(read_dead_letters(transport)) == []
        assert [one.records for one in trimming.plan(transport, trimming.TRIMMABLE, REQUIRED, LATER)] == [0] * len(
            trimming.TRIMMABLE
        )

    def test_a_configuration_is_noted_once_and_recalled(self, transport: Transport) -> None:
        config = Config(crawl=CrawlSection(seeds=("https://example.com/",)))
        assert recall_config(control_state(transport)) is None
        assert remember(transport, config, 5)
        assert not remember(transport, config, 6)
        assert recall_config(control_state(transport)) == config
        assert remember(transport, Config(), 7)
        known = control_state(transport).config
        assert known is not None
        assert (known.version, known.since_ms) == (Config().config_version, 7)
        assert remember(transport, Config(archive=ArchiveSection(enabled=False)), 8), (
            "no decision depends on it, but a reader may"
        )
        known = control_state(transport).config
        assert known is not None
        assert (known.version, known.since_ms) == (Config().config_version, 7)

    def test_the_archiver_is_waited_for_only_while_pages_are_archived(self, transport: Transport) -> None:
        assert "archiver" not in [spec.name for spec in stages_of(transport)], "none ever took part"
        pass_all(transport, "archiver")
        assert "archiver" in [spec.name for spec in stages_of(transport)]
        remember(transport, Config(archive=ArchiveSection(enabled=False)), 5)
        assert [spec.name for spec in stages_of(transport)] == ["frontier", "fetcher", "extractor"]
        remember(transport, Config(), 6)
        assert "archiver" in [spec.name for spec in stages_of(transport)]
