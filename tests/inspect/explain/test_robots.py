"""Stories of URLs whose server's robots.txt cannot be had: nothing of it is asked for, and the story must say why."""

from collections.abc import Callable
from pathlib import Path

from gregor.cli.explain import tell
from gregor.config import Config
from gregor.config.sections import PartitionsSection
from gregor.inspect.explain import ExplainRequest, Story, explain
from gregor.operate.control_state import control_state
from gregor.rules.canonical import rules_of
from gregor.run.placement import placement_of
from gregor.run.seeds import parse_seeds, seed_outputs
from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.fetched import Fetched, FetchResult, RobotsRules
from tests.operate.desk import PARTITIONS, embedded

CONFIG = Config(partitions=PartitionsSection(partitions=PARTITIONS))
URL = "http://127.0.0.1/a"
GUARD = "127.0.0.1 is not a public address; fetch.allow_addresses makes exceptions"


def robots(lease: str, result: FetchResult, rules: RobotsRules) -> Fetched:
    return Fetched(server="127.0.0.1", lease=lease, kind="robots", results=(result,), robots=(rules,))


def refusal(lease: str) -> Fetched:
    result = FetchResult(path="/robots.txt", scheme="http", outcome="address-refused", detail=GUARD)
    return robots(lease, result, RobotsRules(scheme="http", verdict="unreachable"))


def allowance(lease: str) -> Fetched:
    result = FetchResult(path="/robots.txt", scheme="http", outcome="client-error", status=404)
    return robots(lease, result, RobotsRules(scheme="http", verdict="allow-all", status=404))


def story_after(folder: Path, *answers: Callable[[str], Fetched]) -> Story:
    placement = placement_of(CONFIG)
    at = placement.partition("127.0.0.1")
    results = [encode(answer(f"{at}-{number}")) for number, answer in enumerate(answers, 1)]
    with embedded(folder) as transport:
        transport.append(seed_outputs(parse_seeds([URL], rules_of(CONFIG.url)), placement, 1))
        transport.append([Output("fetched", at, b"127.0.0.1", result) for result in results])
        asked = ExplainRequest(
            crawl="desk",
            where="here",
            reader=transport,
            held=control_state(transport),
            config=CONFIG,
            source="the test's",
        )
        return explain(asked, URL, 5)


def test_a_url_whose_robots_txt_cannot_be_had_says_what_came_of_asking(tmp_path: Path) -> None:
    story = story_after(tmp_path, refusal, refusal)
    assert story.logged.robots_asked == 2
    assert story.logged.robots_last is not None
    assert story.logged.robots_last.outcome == "address-refused"
    said = "\n".join(tell(story))
    assert "asked for 2 times, at last" in said
    assert f"could not be had yet, and nothing is asked before: address-refused, {GUARD}" in said


def test_a_url_whose_robots_txt_was_had_at_last_is_judged_by_it(tmp_path: Path) -> None:
    story = story_after(tmp_path, refusal, allowance)
    assert [check.passes for check in story.recomputed.checks if check.about == "robots"] == [True]
    assert story.logged.robots_asked == 2


def test_a_url_whose_robots_txt_was_never_asked_for_says_so(tmp_path: Path) -> None:
    story = story_after(tmp_path)
    assert story.logged.robots_last is None
    assert [check.answer for check in story.recomputed.checks if check.about == "robots"] == [
        "no robots.txt of its origin is in the log"
    ]
