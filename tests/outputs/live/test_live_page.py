"""`gregor worker views` on a real broker, its JSON, and its page in headless Chromium."""

import asyncio
import json
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gregor.config import Config
from gregor.config.sections import PartitionsSection
from gregor.config.text import as_toml
from gregor.errors import EXIT_ENVIRONMENT
from gregor.run.placement import placement_of
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from infra.kafka.ports import held_ports
from schemas.codec import encode
from schemas.discovered import Discovered
from schemas.fetched import Fetched
from schemas.verdicts import Verdict
from tests.chaos.processes import Running, gregor, until
from tests.operate.desk import PARTITIONS, on_kafka
from tests.outputs.folds.records import page
from tests.outputs.live.browser import Page, chromium, opened
from tests.streams.live.records import crawled

EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>'\"&amp;\u202e\x00"
"""Also as a name of a host, which no crawl of ours would write."""

PLACEMENT = placement_of(Config(partitions=PartitionsSection(partitions=PARTITIONS)))


class Site:
    """A views worker with a crawl to show."""

    def __init__(self, config: Config, transport: KafkaTransport, worker: Running) -> None:
        self.config = config
        self.transport = transport
        self.worker = worker
        self.address = f"http://127.0.0.1:{config.views.port}"

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}/api/{path}", timeout=60) as answer:
            return json.loads(answer.read())

    def refused(self, path: str, **headers: str) -> tuple[int, str]:
        try:
            urllib.request.urlopen(urllib.request.Request(f"{self.address}{path}", headers=headers), timeout=60).close()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        return 200, ""

    def ready(self) -> bool:
        try:
            return bool(self.ask("summary")["behind"] == 0)
        except OSError:
            return False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaCluster) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("views")
    config, transport = on_kafka(kafka, folder)
    with held_ports(1) as (port,):
        config = replace(config, views=replace(config.views, port=port))
    (folder / "gregor.toml").write_text(as_toml(config))
    now = time.time_ns() // 1_000_000
    transport.append(list(crawled(200, PARTITIONS)))
    transport.append([_output("fetched", page(f"/{n}", f"h{n}.test", now - n * 100)) for n in range(40)])
    transport.append(
        [_output("fetched", page(f"/{EVIL}{n}", f"evil{EVIL}.test", now, content_type=EVIL)) for n in range(300)]
    )
    transport.append(
        [
            _output("verdicts", Verdict(server=EVIL, kind="refused", reason=EVIL, url=EVIL, stage=EVIL, count=9999)),
            _output("discovered", Discovered(server="h1.test", paths=("/1",), referrer=EVIL, found_ms=now)),
        ]
    )
    with gregor(folder / "gregor.toml", "worker", "views") as worker:
        site = Site(config, transport, worker)
        until(site.ready, "the views have read everything", workers=[worker])
        yield site
    transport.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as port:
        yield port


def _output(topic: str, record: Fetched | Verdict | Discovered) -> Output:
    return Output(topic, PLACEMENT.partition(record.server), record.server.encode(), encode(record))


def seen_in(site: Site, browser: int, scene: Callable[[Page], Awaitable[None]]) -> list[str]:
    """The page in a browser, with something that happens there; gives the browser's complaints."""

    async def run(port: int) -> list[str]:
        async with opened(site.address, port) as page:
            await page.until("document.body.dataset.looks")
            await scene(page)
            return page.complaints

    return asyncio.run(run(browser))


def value_of(answers: dict[str, Any], key: str) -> Any:
    """The value under a key of the page: the answer, then its levels; names of servers and reasons may have dots themselves."""
    first, _, rest = key.partition(".")
    here = answers[first]
    if first == "summary" and rest.startswith("statuses."):
        return next(one["count"] for one in here["statuses"] if one["status"] == rest.removeprefix("statuses."))
    if first == "refusals":
        return next(one["count"] for one in here if f"{one['stage']}.{one['kind']}.{one['reason']}" == rest)
    if first == "servers":
        return next(one["requests"] for one in here["servers"] if f"{one['server']}.requests" == rest)
    for part in rest.split("."):
        here = here[int(part)] if isinstance(here, list) else here[part]
    return here


def test_its_figures_are_those_of_the_api_and_the_browser_has_no_complaint(site: Site, browser: int) -> None:
    answers = {path: site.ask(path) for path in ("summary", "status", "refusals")}
    answers["servers"] = site.ask("servers?limit=25")
    shown: dict[str, str] = {}

    async def scene(page: Page) -> None:
        script = "[...document.querySelectorAll('[data-key][data-value]')].map((one) => [one.dataset.key, one.dataset.value])"
        shown.update(await page.run(script))

    assert seen_in(site, browser, scene) == []
    changing = {"lag", "status.rates.0.requests"}
    tame = {key: value for key, value in shown.items() if "evil" not in key and EVIL[:4] not in key}
    assert len(tame) > 40
    for key, value in tame.items():
        if key not in changing:
            assert value == str(value_of(answers, key)), key
    assert {"summary.requests", "status.queued", "status.stages.frontier.lag", "summary.behind"} <= set(tame)
    assert {f"summary.statuses.{one['status']}" for one in answers["summary"]["statuses"]} <= set(tame)
    assert len([key for key in shown if key.startswith("servers.")]) == 25


def test_what_strangers_wrote_is_text_wherever_it_stands(site: Site, browser: int) -> None:
    found: dict[str, Any] = {}

    async def scene(page: Page) -> None:
        await page.run(f"document.getElementById('find').value = {json.dumps('evil<img')}")
        await page.run("document.getElementById('find').dispatchEvent(new Event('input'))")
        await page.until("document.querySelectorAll('#servers tbody tr').length === 1")
        await explain(page, f"https://h1.test/1?{EVIL}")
        await explain(page, "https://h1.test/1")
        await page.until("document.getElementById('story').textContent.includes('onerror')")
        found["elements"] = await page.run("document.querySelectorAll('img, iframe, object, [onerror]').length")
        found["scripts"] = await page.run("document.querySelectorAll('script').length")
        found["title"] = await page.run("document.title")
        found["text"] = await page.run("document.body.textContent")

    assert seen_in(site, browser, scene) == []
    assert (found["elements"], found["scripts"]) == (0, 1)
    assert found["title"] == f"{site.config.crawl.name}: live crawl"
    assert "document.title='owned'" in found["text"], "it is there to be read"
    assert "\u202e" not in found["text"]
    assert "\x00" not in found["text"]


def test_the_box_explains_a_url(site: Site, browser: int) -> None:
    told: dict[str, str] = {}
    story = site.ask("explain?" + urllib.parse.urlencode({"url": "h7.test/7"}))
    assert story["canonical"] == "https://h7.test/7"

    async def scene(page: Page) -> None:
        await explain(page, "h7.test/7")
        told["canonical"] = await page.run("document.querySelector('[data-key=\"explain.canonical\"]').textContent")
        told["next"] = await page.run("document.querySelector('[data-key=\"explain.next\"]').textContent")
        told["all"] = await page.run("document.getElementById('story').textContent")

    assert seen_in(site, browser, scene) == []
    assert told["canonical"] == story["canonical"]
    assert told["next"].startswith(f"Next: {story['next']['what']}")
    assert "status 200" in told["all"]
    assert "canonical form" in told["all"]


async def explain(page: Page, url: str) -> None:
    await page.run("document.getElementById('story').replaceChildren()")
    await page.run(f"document.getElementById('url').value = {json.dumps(url)}")
    await page.run("document.querySelector('#asking button').click()")
    await page.until("document.querySelector('#story .story')")


def test_a_click_sorts_and_pages_the_servers(site: Site, browser: int) -> None:
    rows = "[...document.querySelectorAll('#servers tbody tr')].map((row) => row.cells[0].textContent)"
    seen: list[list[str]] = []

    async def scene(page: Page) -> None:
        await page.run("document.querySelector('#servers th button').click()")
        await page.until("document.querySelector('#servers th[aria-sort=descending]')?.cellIndex === 0")
        await page.run("document.querySelector('#servers th button').click()")
        await page.until("document.querySelector('#servers th[aria-sort=ascending]')?.cellIndex === 0")
        seen.append(await page.run(rows))
        await page.run("document.getElementById('later').click()")
        await page.until("document.getElementById('place').textContent.startsWith('26 ')")
        seen.append(await page.run(rows))

    assert seen_in(site, browser, scene) == []
    wanted = [one["server"] for one in site.ask("servers?sort=server&order=asc&limit=50")["servers"]]
    assert [len(part) for part in seen] == [25, 25]
    tame = [name for part in seen for name in part if "<" not in name]
    assert tame == [name for name in wanted if "<" not in name]
    assert len(tame) > 40


ATTEMPTS = (
    "element('div', (one) => one.setAttribute('onclick', OWNED)).click()",
    "element('div', (one) => { one.innerHTML = `<img src=x onerror=\"${OWNED}\">` })",
    "element('script', (one) => one.append(OWNED))",
    "element('script', (one) => { one.src = 'data:text/javascript,' + OWNED })",
    "element('iframe', (one) => { one.src = 'javascript:parent.' + OWNED })",
    "setTimeout(OWNED, 0)",
)


def test_the_policy_stops_every_script_that_is_not_the_pages_own(site: Site, browser: int) -> None:
    titles: list[str] = []

    async def scene(page: Page) -> None:
        await page.run(
            """globalThis.OWNED = "document.title='owned'"; globalThis.element = (tag, change) => {
            const one = document.createElement(tag); change(one); document.body.append(one); return one; }"""
        )
        for attempt in ATTEMPTS:
            await page.run(f"(() => {{ try {{ {attempt} }} catch {{}} }})()")
            await page.run("new Promise((done) => setTimeout(done, 20))")
            titles.append(await page.run("document.title"))

    complaints = seen_in(site, browser, scene)
    assert titles == [f"{site.config.crawl.name}: live crawl"] * len(ATTEMPTS)
    assert len(complaints) >= len(ATTEMPTS) - 1
    assert all("Content Security Policy" in one or "Trusted" in one for one in complaints)


def test_it_refers_to_nothing_outside_of_itself(site: Site) -> None:
    for path in ("/", "/live.css", "/report.css", "/live.js", "/figures.js", "/chart.js", "/story.js"):
        with urllib.request.urlopen(f"{site.address}{path}", timeout=60) as answer:
            text = answer.read().decode()
            policy = answer.headers["Content-Security-Policy"]
        assert re.findall(r"https?://(?!…|www\.w3\.org/2000/svg)[^\s\"']*", text) == [], path
        assert "@import" not in text
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("path", "status", "what"),
    [
        ("/api/servers?sort=colour", 400, "expected sort to be one of server, requests"),
        ("/api/servers?limit=501", 400, "expected limit to be a number from 1 to 500, found '501'"),
        ("/api/servers?offset=-1", 400, "expected offset to be a number from 0"),
        ("/api/rates?span=1y", 400, "expected span to be one of 5m, 1h, 24h, all, found '1y'"),
        ("/api/explain", 400, "expected ?url= with 1 to 4096 characters, found 0"),
        ("/etc/passwd", 404, "Not Found"),
    ],
)
def test_a_question_that_means_nothing_is_refused_with_a_sentence(
    site: Site, path: str, status: int, what: str
) -> None:
    code, said = site.refused(path)
    assert code == status
    assert what in json.loads(said)["error"]


def test_it_answers_to_addresses_and_known_names_alone(site: Site) -> None:
    port = site.config.views.port
    assert site.refused("/api/summary", Host="stranger.example")[0] == 403
    assert site.refused("/", Host=f"127.0.0.1.stranger.example:{port}")[0] == 403
    assert site.refused("/healthz", Host="localhost")[0] == 200
    assert site.refused("/healthz", Host=f"[::1]:{port}")[0] == 200


def test_a_text_that_is_no_url_has_a_story_too(site: Site) -> None:
    story = site.ask("explain?" + urllib.parse.urlencode({"url": "javascript:alert(1)"}))
    assert story["next"]["what"].startswith("nothing")


def test_it_takes_in_what_comes_later_and_ends_when_it_is_asked_to(site: Site) -> None:
    before = site.ask("summary")["requests"]
    site.transport.append([_output("fetched", page(server="late.test"))])
    until(lambda: site.ask("summary")["requests"] == before + 1, "the late record is there", workers=[site.worker])
    code, printed = site.worker.terminate()
    assert code == 0, printed
    assert f"The page is {site.address}/" in printed
    assert "Traceback" not in printed
    assert "\x1b" not in printed, "a terminal is left as it was"


def test_a_port_that_is_taken_is_told_in_one_sentence(site: Site, tmp_path: Path) -> None:
    (tmp_path / "gregor.toml").write_text(as_toml(site.config))
    with (
        socket.create_server(("127.0.0.1", site.config.views.port)),
        gregor(tmp_path / "gregor.toml", "worker", "views") as worker,
    ):
        code, printed = worker.wait()
    assert code == EXIT_ENVIRONMENT
    assert f"expected a free port for the views, found 127.0.0.1:{site.config.views.port}" in printed
    assert "Traceback" not in printed
