"""Servers that send without end what is no body: they are hung up on, at the price of a little memory, and nobody waits for them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.hostile import floods, servers
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Fetching, order_of

MIB = 1024 * 1024
HOSTS = 8


def flooded(web: Web, backend: str, kind: type[Server]) -> Any:
    """What a fetcher in a process of its own says of several such servers and a good one beside them."""
    good, *others = servers.Answers(), *(kind() for _ in range(HOSTS))
    with web.serving(good, *others):
        command = [sys.executable, "-m", "tests.hostile.one_request_each", backend]
        command += [good.name, *(one.name for one in others)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (floods.FloodOfContinues, 0),
        (floods.FloodOfHints, 0),
        (floods.FloodOfBareInformation, 0),
        (floods.FloodBeforeTheAnswer, 0),
        (floods.FloodOfLongHeaders, 0),
        (floods.FloodOfExtensions, 200),
        (floods.FloodOfZeros, 200),
        (floods.FloodOfCrumbs, 200),
        (floods.FloodOfTrailers, 200),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_flood_ends_as_no_proper_http_and_takes_neither_memory_nor_the_others_turn(
    kind: type[Server], status: int, web: Web, backend: str
) -> None:
    seen = flooded(web, backend, kind)
    assert [one[:2] for one in seen["others"]] == [["protocol", status]] * HOSTS
    assert all(one[2] for one in seen["others"])
    assert seen["good"] == "ok"
    # Unstopped, the first of them took more than a gigabyte.
    assert seen["grown"] < 50 * MIB


@pytest.mark.parametrize("kind", [floods.FloodOfAnswers, floods.FloodOfLineEnds], ids=lambda kind: kind.__name__)
def test_a_flood_behind_a_whole_answer_loses_the_connection_and_not_the_answer(
    kind: type[Server], web: Web, backend: str
) -> None:
    seen = flooded(web, backend, kind)
    assert [one[:2] for one in seen["others"]] == [["ok", 200]] * HOSTS
    assert seen["good"] == "ok"
    assert seen["grown"] < 50 * MIB


def test_a_connection_that_is_flooded_while_nothing_is_asked_is_closed(web: Web, fetcher: Fetching) -> None:
    server = floods.FloodOfLateAnswers()
    with web.serving(server):
        assert fetcher.get(server.name).result.outcome == "ok"
        web.call(server.begin.set)
        web.run(server.gone.wait())
    # What fits into socket buffers, and no more.
    assert server.sent < 32 * MIB


def test_a_few_interim_answers_are_passed_over(web: Web, fetcher: Fetching) -> None:
    server = floods.HintsAndAnswers()
    with web.serving(server):
        answer = fetcher.run(order_of(server.name, "/1", "/2"))
    assert [result.outcome for result in answer.fetched.results] == ["ok", "ok"]
    assert [page.body for page in answer.pages] == [b"hello", b"hello"]
    assert server.connections == 1


def test_a_bad_body_behind_an_interim_answer_in_one_packet_leaves_the_status_known(web: Web, fetcher: Fetching) -> None:
    server = floods.HintsAndBadChunks()
    with web.serving(server):
        answer = fetcher.get(server.name)
    assert (answer.result.outcome, answer.result.status) == ("protocol", 200)


def test_a_body_in_chunks_of_one_byte_is_read(web: Web, fetcher: Fetching) -> None:
    server = floods.Crumbs()
    with web.serving(server):
        answer = fetcher.get(server.name)
    assert (answer.result.outcome, answer.pages[0].body) == ("ok", b"x" * 60_000)
