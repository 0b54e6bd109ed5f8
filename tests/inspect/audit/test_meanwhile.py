"""What is committed while an audit reads: neither lost nor twice, only later."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gregor.config import Config
from gregor.config.sections import PartitionsSection
from gregor.inspect.audit.finding import Finding
from gregor.inspect.audit.run import Places, audit
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.fetched import Fetched, FetchResult
from schemas.pages import PageFacts
from tests.operate.desk import PARTITIONS, embedded

CONFIG = Config(partitions=PartitionsSection(partitions=PARTITIONS))


def result(number: int) -> Output:
    one = FetchResult(path=f"/{number}", scheme="http", outcome="ok", status=200)
    return Output("fetched", 0, b"a.test", encode(Fetched(server="a.test", lease=f"0-{number}", results=(one,))))


def page(number: int) -> Output:
    facts = PageFacts(server="a.test", path=f"/{number}", scheme="http", status=200, lease=f"0-{number}")
    return Output("pages", 0, b"a.test", b"", encode(facts))


def responses(transport: EmbeddedTransport) -> Finding:
    found = audit(transport, CONFIG, PARTITIONS, Places(), tolerance_ms=20)
    return next(one for one in found if one.name == "responses-once")


def test_a_response_that_comes_while_pages_are_read_is_not_taken_for_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with embedded(tmp_path) as transport:
        transport.append([result(1), page(1)])
        told, asked = transport.ends, 0

        def ends(topic: str) -> Mapping[int, tuple[int, int]]:
            nonlocal asked
            found = told(topic)
            asked += topic == "pages"
            if topic == "pages" and asked == 2:
                transport.append([result(2), page(2)])
            return found

        monkeypatch.setattr(transport, "ends", ends)
        assert responses(transport).failed == 0
        assert asked == 2, "once for where the topic begins, once to read it"
        assert responses(transport).failed == 0


def test_a_response_without_a_page_is_found(tmp_path: Path) -> None:
    with embedded(tmp_path) as transport:
        transport.append([result(1), page(1), result(2)])
        found = responses(transport)
        assert found.offenders == ["http://a.test/2 by order 0-2 has a result with a response, and no page"]
