"""The end of a run: counts that were kept back leave with the last checkpoint."""

from pathlib import Path

from gregor.config import load
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.discovered import decode_discovered
from schemas.pages import PageFacts
from tests.workers.extractor.staged import HTML, SEED
from workers.extractor.stage import SPEC, ExtractorStage

PARTITIONS = 2
PAGES = 7


def test_a_stage_that_is_asked_to_stop_says_how_often_urls_were_met_since_its_last_report(tmp_path: Path) -> None:
    config = load(None, {}, {"crawl.seeds": [SEED], "filter.flush_s": 3600.0}).config
    settings = EmbeddedSettings(crawl="drained", partitions=PARTITIONS)
    transport = EmbeddedTransport.at(tmp_path / "log", settings, SharedMemory(StoreOptions.of(config.state)), (SPEC,))
    stage = ExtractorStage(config, HashPlacement(4096, PARTITIONS), tmp_path / "filter")
    loop = StageLoop(stage, transport.open(SPEC), config.checkpoint)
    pages = [
        PageFacts(server="h.example", path=f"/{n}", scheme="http", lease=f"{n}", status=200, response_headers=(HTML,))
        for n in range(PAGES)
    ]
    transport.append([Output("pages", 0, b"h.example", b"<a href=/x><a href=/y>", encode(one)) for one in pages])
    while stage.known.counts.hits < 2 * (PAGES - 1):
        loop.step(0.0)
    # The pages may still be pending: what they counted is not known to be true before their commit.
    loop.stop()
    loop.run()
    found = [
        decode_discovered(record.value) for p in range(PARTITIONS) for record in transport.read("discovered", p, 0)
    ]
    assert sorted(path for one in found if one.kind == "link" for path in one.paths) == ["/x", "/y"]
    (report,) = (one for one in found if one.kind == "repetition")
    assert dict(zip(report.paths, report.counts, strict=True)) == {"/x": PAGES - 1, "/y": PAGES - 1}
    transport.close()
