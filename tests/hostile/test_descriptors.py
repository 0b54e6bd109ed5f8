"""A connection that fails gives back its own file descriptor, once, and nobody else's: others of the process may be files of the crawl."""

from __future__ import annotations

import gc
import os
import ssl
import time
from typing import Any

import trustme

from tests.hostile import servers
from tests.hostile.names import NameServer
from tests.hostile.test_tls import Tls
from tests.hostile.web import Web
from tests.workers.fetcher.fetching import Fetching, fetching, made_by, order_of, settings

ROUNDS = 20
AT_ONCE = 16


def lost_files(fetcher: Fetching, name: str, outcomes: set[str]) -> list[int]:
    """Files that were opened beside failing connections, and are not open any more although nobody closed them."""
    files: list[int] = []
    for _ in range(ROUNDS):
        answers = fetcher.gather([fetcher.start(order_of(name, "/", scheme="https")) for _ in range(AT_ONCE)])
        assert {one.result.outcome for one in answers.values()} <= outcomes
        # They take the numbers of what was closed.
        files += [os.open(os.devnull, os.O_RDONLY) for _ in range(AT_ONCE)]
        gc.collect()
    lost = [one for one in files if not os.path.exists(f"/proc/self/fd/{one}")]
    for one in set(files) - set(lost):
        os.close(one)
    return lost


class Busy(ssl.SSLContext):
    """As on a machine that is busy with something else between the connection and the first word of the handshake."""

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        time.sleep(0.01)
        return super().wrap_bio(*arguments, **named)


def test_a_server_that_resets_before_the_handshake_costs_nobody_a_file(web: Web, backend: str) -> None:
    port = made_by(backend, connections=AT_ONCE, tls=Busy(ssl.PROTOCOL_TLS_CLIENT))
    with web.serving(server := servers.ResetsOnConnect()), fetching(settings(), port=port) as fetcher:
        assert lost_files(fetcher, server.name, {"connect", "disconnected", "tls"}) == []


class OneAnswer(Tls):
    """Each request needs a connection of its own."""

    bytes_ = servers.response(b"hello", "Connection: close")


def test_nor_does_it_where_another_address_of_its_name_answers(web: Web, backend: str) -> None:
    authority = trustme.CA()
    context = Busy(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    names = NameServer(lambda name, times: ["127.0.0.1", "127.0.0.2"])
    names.open(web)
    resets, good = servers.ResetsOnConnect(), OneAnswer(authority.issue_cert("two.example"))
    good.host = "127.0.0.2"
    port = made_by(backend, connections=AT_ONCE, name_servers=(f"127.0.0.1:{names.port}",), tls=context)
    with web.serving(resets), web.serving(good, port=resets.port), fetching(settings(), port=port) as fetcher:
        assert lost_files(fetcher, f"two.example:{resets.port}", {"ok"}) == []
        assert resets.connections
    names.close(web)
