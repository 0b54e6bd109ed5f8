"""Plans: units, what binds, that more machines help until the model says why not, and nonsense in one line."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gregor import cli
from gregor.errors import EXIT_USAGE, UsageError
from gregor.plan.calibrate import Measured, profile_of
from gregor.plan.planner import DAY_S, SHARE, make_plan, speed_of
from gregor.plan.profile import BySize, Profile, packaged, read_profile, write_profile
from gregor.plan.question import Question

PROFILE = packaged()
PLAIN = Profile(
    measured="nowhere",
    cpu_ms={role: BySize(1.0, 0.0) for role in ("frontier", "fetcher", "extractor", "archiver", "broker")},
    memory_mb=dict.fromkeys(("frontier", "fetcher", "extractor", "archiver", "broker"), 100.0),
    topic_bytes=BySize(0.0, 1000.0),
    changelog_bytes=100.0,
    state_bytes=20.0,
    archive_bytes=BySize(0.0, 200.0),
    transaction_ms=0.0,
)
"""5 ms a page on one machine, and nothing for transactions: a plan that can be done by hand."""


def test_a_plan_by_hand() -> None:
    question = Question(
        pages=8.64e6, machines=1, cores=10, load=0.5, page_kb=100.0, known=2.0, retention_hours=1.0, price=3.0
    )
    plan = make_plan(question, PLAIN)
    assert plan.speed.limits["processor"] == 1000, "5 cores, 5 ms a page"
    assert plan.speed.binds == "processor"
    assert plan.days == pytest.approx(0.1)
    assert plan.speed.layout.workers == dict.fromkeys(("frontier", "fetcher", "extractor", "archiver"), 1)
    assert (plan.speed.layout.partitions, plan.speed.layout.brokers, plan.speed.layout.replication) == (8, 1, 1)
    assert plan.disks.topics == pytest.approx(1000 * 3600 * 100_000 / 1e9)
    assert plan.disks.changelogs == pytest.approx(8.64e6 * 2 * 100 / 1e9)
    assert plan.disks.state == pytest.approx(8.64e6 * 2 * 20 / 1e9)
    assert plan.disks.archive == pytest.approx(8.64e6 * 20_000 / 1e9)
    assert plan.wire_mbit == pytest.approx(1000 * 0.1 * 8)
    assert plan.cost == pytest.approx(2.4 * 3)
    assert plan.servers_needed == 1000
    assert plan.speed.layout.memory_gb_a_machine == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "binds", "rate"),
    [
        ({"bandwidth": 80.0, "page_kb": 100.0}, "bandwidth", 100),
        ({"servers": 300, "delay": 2.0}, "politeness", 150),
        ({"disk_mb_s": 1.0}, "disk", None),
        ({"network_gbit": 0.001}, "broker", None),
        ({}, "processor", None),
    ],
)
def test_the_narrowest_binds(changed: dict[str, float], binds: str, rate: float | None) -> None:
    plan = make_plan(Question(pages=1e9, machines=10, **changed), PROFILE)  # type: ignore[arg-type]
    assert plan.speed.binds == binds
    assert plan.speed.pages_per_s == min(plan.speed.limits.values())
    if rate is not None:
        assert plan.speed.pages_per_s == pytest.approx(rate)


def test_two_of_three_are_given_and_the_third_is_told() -> None:
    by_days = make_plan(Question(pages=1e9, days=3), PROFILE)
    assert by_days.days <= 3
    fewer = make_plan(Question(pages=1e9, machines=by_days.machines - 1), PROFILE)
    assert fewer.days > 3
    by_machines = make_plan(Question(days=by_days.days, machines=by_days.machines), PROFILE)
    assert by_machines.pages == pytest.approx(1e9)
    assert make_plan(Question(pages=1e6), PROFILE).machines == 1
    assert make_plan(Question(machines=2), PROFILE).days == pytest.approx(1)


def test_what_cannot_be_in_time_says_what_binds() -> None:
    plan = make_plan(Question(pages=30e9, days=7, bandwidth=10_000), PROFILE)
    assert plan.speed.binds == "bandwidth"
    assert any("Not within 7 days, whatever is added: bandwidth binds" in note for note in plan.notes)
    assert plan.days == pytest.approx(30e9 * 140_000 * 8 / 10e9 / DAY_S, rel=1e-6)


def test_thirty_thousand_million_pages_in_a_week_is_a_plan() -> None:
    plan = make_plan(Question(pages=30e9, days=7), PROFILE)
    assert plan.days <= 7
    assert plan.speed.pages_per_s >= 30e9 / 7 / DAY_S
    assert plan.speed.layout.replication == 3
    assert all(count <= plan.speed.layout.partitions for count in plan.speed.layout.workers.values())


@given(
    st.floats(1, 2000),
    st.integers(1, 128),
    st.booleans(),
    st.floats(0, 50_000),
    st.integers(0, 10**7),
    st.integers(3, 400),
)
def test_more_machines_are_never_slower_unless_the_model_says_that_transactions_take_it(
    page_kb: float, cores: int, archive: bool, bandwidth: float, servers: int, machines: int
) -> None:
    question = Question(machines=1, page_kb=page_kb, cores=cores, archive=archive, bandwidth=bandwidth, servers=servers)
    one, more = (speed_of(question, PROFILE, count) for count in (machines, machines + 1))
    if more.pages_per_s < one.pages_per_s * (1 - 1e-9):
        assert more.binds == "processor"
        assert more.transactions_share > SHARE
        notes = make_plan(replace(question, machines=machines + 1), PROFILE).notes
        assert any("Transactions take" in note for note in notes)


def test_there_is_a_number_of_machines_beyond_which_more_are_slower() -> None:
    """As in the paper; or the property above would hold for nothing."""
    question = Question(machines=1, cores=16, page_kb=22.3, archive=False)
    rates = [speed_of(question, PROFILE, machines).pages_per_s for machines in range(1, 2000, 10)]
    assert any(more < one for one, more in pairwise(rates))


def test_pages_that_are_harder_to_read_take_more_extractors() -> None:
    plain, hard = (make_plan(Question(pages=1e9, machines=50, extract_factor=one), PROFILE) for one in (1.0, 7.0))
    assert hard.speed.layout.workers["extractor"] > 3 * plain.speed.layout.workers["extractor"]
    assert hard.days > plain.days


@given(st.floats(0.1, 100), st.integers(1, 50))
def test_twice_the_pages_take_twice_as_long(millions: float, machines: int) -> None:
    one, two = (make_plan(Question(pages=times * millions * 1e6, machines=machines), PROFILE) for times in (1, 2))
    assert two.days == pytest.approx(2 * one.days)
    assert two.disks.archive == pytest.approx(2 * one.disks.archive)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "--pages 0",
        "--pages -1",
        "--pages nan",
        "--pages inf",
        "--pages 1e9 --bandwidth -5",
        "--pages 1e9 --machines 0",
        "--pages 1e9 --days 7 --machines 3",
        "--pages 1e9 --workers 100 --partitions 64",
        "--pages 1e9 --partitions 100",
        "--pages 1e9 --load 1.5",
        "--pages 1e9 --machines 2 --replication 3",
        "--pages 1e9 --machines 1000000000",
        "--pages 1e9 --page-kb 0",
        "--pages 1e9 --profile none.json",
        "--model paper",
        "--model paper --pages 10",
    ],
)
def test_nonsense_is_one_clear_line(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", *arguments.split()]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "expected" in said
    assert "found" in said


def test_a_plan_is_told_to_people_to_programs_and_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "plan.html"
    arguments = ["plan", "--pages", "30e9", "--days", "7", "--price", "0.4"]
    assert cli.run([*arguments, "--html", str(page)]) == 0
    said = capsys.readouterr().out
    for word in (
        "What binds first: processor",
        "extractor",
        "partitions",
        "archive",
        "cost",
        "Twice as many machines",
        "AMD",
    ):
        assert word in said
    assert cli.run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["plan"]["speed"]["binds"] == "processor"
    assert told["plan"]["speed"]["limits"]["bandwidth"] is None, "not known"
    assert all(one[0] < more[0] for one, more in pairwise(told["curve"]))
    text = page.read_text()
    assert "<svg" in text
    assert "http" not in text.replace("http-equiv", ""), "it loads nothing"


def test_the_papers_model_is_one_word_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "paper.html"
    asked = ["plan", "--model", "paper", "--pages", "30e9", "--bandwidth", "10000", "--html", str(page)]
    assert cli.run(asked) == 0
    assert "by 31 agents of paper 004" in capsys.readouterr().out
    assert "<polyline" in page.read_text()
    assert cli.run([*asked, "--json", "--days", "30"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["agents"], told["best_agents"], told["most_agents"]) == (8, 179, 31)
    assert told["days"] <= 30


def test_a_profile_is_the_lines_through_two_crawls_and_comes_back_from_its_file(tmp_path: Path) -> None:
    def crawl(kb: float, known: int) -> Measured:
        roles = ("frontier", "fetcher", "extractor", "archiver", "broker")
        return Measured(
            kb=kb,
            cpu_ms=dict.fromkeys(roles, 0.5 + 0.01 * kb),
            memory_mb=dict.fromkeys(roles, kb),
            topic_bytes=200 + 500 * kb,
            archive_bytes=1000 + 250 * kb,
            known=known,
            changelog_bytes=10_000 + 200.0 * known,
            state_bytes=1_000_000 + 30.0 * known,
        )

    found = profile_of(crawl(20, 2500), crawl(140, 800), "here")
    assert found.cpu_ms["extractor"].at(60) == pytest.approx(1.1)
    assert found.topic_bytes == BySize(200, 500)
    assert (found.changelog_bytes, found.state_bytes) == (200, 30)
    assert found.memory_mb["broker"] == 140
    write_profile(found, tmp_path / "profile.json")
    assert read_profile(tmp_path / "profile.json") == found
    (tmp_path / "bad.json").write_text('{"measured": 1}')
    with pytest.raises(UsageError, match="expected a profile"):
        read_profile(tmp_path / "bad.json")


def test_the_packaged_profile_says_where_it_was_measured_and_is_no_nonsense() -> None:
    assert "cores of" in PROFILE.measured
    assert all(0 < cost.at(22.3) < 50 for cost in PROFILE.cpu_ms.values())
    assert all(math.isfinite(cost.at(10_000)) for cost in PROFILE.cpu_ms.values())
