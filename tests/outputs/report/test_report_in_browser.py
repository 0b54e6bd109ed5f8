"""report.html opened in headless Chromium: no errors, the figures of summary.json, and no way in for what strangers wrote."""

import json
import re
from pathlib import Path

import pytest
from lxml import html  # type: ignore[import-untyped]

from gregor.config import Flag, load
from gregor.demo.museum import SETTINGS, House, Museum
from gregor.demo.server import serve
from gregor.demo.wings import STAFF_RULES
from gregor.outputs.report.make import make_report
from gregor.run.embedded import EmbeddedCrawl
from gregor.runtime.loops.loop import now_ms
from schemas.fetched import Fetched, Timings
from schemas.verdicts import Verdict
from tests.outputs.folds.records import MONDAY, page
from tests.outputs.report.browser import open_page
from tests.outputs.report.logs import PARTITIONS, log_with

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'\"&amp;</style></title>"


HOUSES = (
    House(name="Hall", pages=12),
    House(name="House with staff", pages=9, staff=True, rules=STAFF_RULES),
    House(name="House of the old porter", pages=6, delay_s=0.05),
)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a real crawl of three small houses."""
    folder = tmp_path_factory.mktemp("crawled")
    with serve(Museum(houses=HOUSES)) as server:
        flags = {key: Flag(value, "--demo") for key, value in SETTINGS.items()}
        flags["crawl.seeds"] = Flag(tuple(server.site.seeds), "--demo")
        (folder / "gregor.toml").write_text("")
        config = load(folder / "gregor.toml", {}, flags).config
        job = EmbeddedCrawl(config, folder / "state")
        try:
            job.run()
            summary = make_report(folder, job.transport, "museum", config.partitions.partitions, now_ms())
        finally:
            job.close()
        assert summary.requests == sum(server.requested().values())
    return folder


def value_of(summary: dict[str, object], key: str) -> object:
    """The value under a key of the report: dots part its levels, but for names that have dots themselves."""
    first, _, rest = key.partition(".")
    here = summary[first]
    if first in ("statuses", "types") and isinstance(here, dict):
        return here[rest]
    if first == "refusals" and isinstance(here, list):
        stage, kind, reason = rest.split(".")
        return next(
            line["count"] for line in here if (line["stage"], line["kind"], line["reason"]) == (stage, kind, reason)
        )
    if first == "servers" and isinstance(here, list):
        name, _, field = rest.rpartition(".")
        return next(line[field] for line in here if line["server"] == name)
    return here[rest] if isinstance(here, dict) else here


def test_its_figures_are_those_of_the_summary_and_the_browser_has_no_complaint(crawled: Path, tmp_path: Path) -> None:
    summary = json.loads((crawled / "summary.json").read_bytes())
    seen = open_page(crawled / "report.html", tmp_path)
    assert seen.complaints == []
    figures = html.fromstring(seen.dom).xpath("//*[@data-key]")
    for figure in figures:
        assert figure.get("data-value") == str(value_of(summary, figure.get("data-key"))), figure.get("data-key")
        if isinstance(number := value_of(summary, figure.get("data-key")), int) and "bytes" not in figure.get(
            "data-key"
        ):
            assert figure.text_content() == f"{number:,}"
    shown = {figure.get("data-key") for figure in figures}
    assert shown >= {"urls.fetched", "requests", "pages", "pages_per_s", "links.found", "server_count", "statuses.200"}
    assert {f"statuses.{status}" for status in summary["statuses"]} <= shown
    assert {f"servers.{line['server']}.requests" for line in summary["servers"]} <= shown
    assert "refusals.frontier.refused.robots" in shown


def test_it_refers_to_nothing_outside_of_itself(crawled: Path) -> None:
    tree = html.fromstring((crawled / "report.html").read_text())
    assert tree.xpath("//@src | //@href | //@srcset | //@action") == []
    assert "@import" not in tree.xpath("//style")[0].text
    assert "url(" not in tree.xpath("//style")[0].text


@pytest.mark.parametrize(("clicks", "falling"), [(1, True), (2, False)])
def test_a_click_on_a_column_sorts_the_servers(crawled: Path, tmp_path: Path, clicks: int, falling: bool) -> None:
    """The policy is taken out of a copy, so that the test may click."""
    text = re.sub(r"<meta http-equiv=[^>]*>", "", (crawled / "report.html").read_text())
    click = "document.querySelectorAll('th button')[1].click();" * clicks
    copy = tmp_path / "clicked.html"
    copy.write_text(text.replace("</body>", f"<script>{click}</script></body>"))
    seen = open_page(copy, tmp_path / "profile")
    assert seen.complaints == []
    rows = [int(cell) for cell in html.fromstring(seen.dom).xpath("//tbody/tr/td[2]/@data-by")]
    assert len(rows) == len(HOUSES)
    assert rows == sorted(rows, reverse=falling)


def test_the_policy_would_stop_a_script_that_is_not_the_reports_own(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "planted.html"
    text = (crawled / "report.html").read_text()
    copy.write_text(text.replace("</body>", "<script>document.title='owned'</script></body>"))
    seen = open_page(copy, tmp_path / "profile")
    assert any("Content Security Policy" in line for line in seen.complaints)
    assert "<title>owned" not in seen.dom


def test_what_strangers_wrote_is_text(tmp_path: Path) -> None:
    records: list[Fetched | Verdict] = [
        page(f"/{EVIL}{number}", f"a{EVIL}.test", content_type=f"text/{EVIL}", timings=Timings(total=9), depth=number)
        for number in range(4)
    ]
    records += [Verdict(server=EVIL, kind="refused", reason=EVIL, url=f"https://a.test/{EVIL}\u202e\x00", stage=EVIL)]
    with log_with(tmp_path / "state", records) as log:
        make_report(tmp_path, log, EVIL, PARTITIONS, MONDAY)
    text = (tmp_path / "report.html").read_text()
    assert "\u202e" not in text
    assert "\x00" not in text
    seen = open_page(tmp_path / "report.html", tmp_path / "profile")
    assert seen.complaints == []
    tree = html.fromstring(seen.dom)
    assert tree.xpath("//img") == []
    assert len(tree.xpath("//script")) == len(tree.xpath("//style")) == 1
    assert "document.title" in tree.xpath("//title")[0].text
    assert tree.xpath("//@onerror") == []
