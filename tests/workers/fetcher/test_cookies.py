"""Cookies of a redirect, for the one retry that they are for."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile.servers import response
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Fetching
from workers.fetcher.cookies import LONGEST_COOKIES, MOST_COOKIES, cookies_of


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["seen=1; Path=/; HttpOnly"], "seen=1"),
        (["a=1", "b=x y; Expires=Wed, 21 Oct 2065 07:28:00 GMT"], "a=1; b=x y"),
        (["a=1", "a=2"], "a=2"),
        (["a=1", "a=; Max-Age=0"], ""),
        (["a=1; max-age=10"], "a=1"),
        (["a=b=c"], "a=b=c"),
        (['a="q"'], 'a="q"'),
        (["a="], "a="),
        (["=x", "nothing", "", "a\x00=1", "a=\x7f", "a b=1"], ""),
        (["s=1; Secure"], ""),
    ],
)
def test_pairs_are_taken_as_a_browser_would_send_them_back(values: list[str], expected: str) -> None:
    assert cookies_of(tuple(("Set-Cookie", value) for value in values), "http") == expected


def test_a_secure_cookie_is_for_https() -> None:
    headers = (("set-cookie", "s=1; Path=/; Secure"),)
    assert (cookies_of(headers, "https"), cookies_of(headers, "http")) == ("s=1", "")


@given(st.lists(st.text(max_size=200).map(lambda text: f"n{len(text)}={text}"), max_size=100))
def test_any_values_make_a_header_value_within_its_bounds(values: list[str]) -> None:
    found = cookies_of(tuple(("Set-Cookie", value) for value in values), "https")
    assert len(found) <= LONGEST_COOKIES
    assert found.isascii()
    assert found.isprintable()
    assert found.count("; ") < MOST_COOKIES


@pytest.mark.parametrize(
    "value",
    [
        "a=" + " " * 2_000_000 + "\xe9",
        "a" + " " * 2_000_000 + "=1",
        "a=1;" + " " * 2_000_000 + "max-age=x",
        "a=1; max-age=" + "0" * 2_000_000 + "x",
        "a=1" + "; secure " * 200_000 + "x",
    ],
    ids=lambda value: value[:14].strip(),
)
def test_the_time_for_a_value_grows_with_its_length_alone(value: str) -> None:
    # Two million characters, each of them looked at for each of the others, would take an hour.
    assert cookies_of((("Set-Cookie", value),), "https") in ("", "a=1")


class Wall(Server):
    """Redirects to itself until it is shown its cookie."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await self.request(reader)
            if b"Cookie: seen=1\r\n" in head:
                writer.write(response(b"behind the wall"))
            else:
                path = head.split(b" ")[1]
                writer.write(
                    b"HTTP/1.1 302 Found\r\nLocation: %b\r\nSet-Cookie: seen=1; Path=/\r\nContent-Length: 0\r\n\r\n"
                    % path
                )
            await writer.drain()


def test_a_redirect_to_itself_says_what_lets_the_next_order_pass(web: Web, fetcher: Fetching) -> None:
    server = Wall()
    with web.serving(server):
        first = fetcher.get(server.name, "/page")
        again = fetcher.get(server.name, "/page", cookies=first.result.cookies)
    assert (first.result.outcome, first.result.cookies) == ("redirect", "seen=1")
    assert (again.result.outcome, again.result.cookies, again.pages[0].body) == ("ok", "", b"behind the wall")
