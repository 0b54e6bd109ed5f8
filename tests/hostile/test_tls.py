"""Certificates that do not hold end in ``tls``, and nothing is sent over them."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Iterator

import pytest
import trustme

from tests.hostile import floods, servers
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Fetching, fetching, made_by, settings

PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Tls(servers.Answers):
    """Shows the certificate that it is given."""

    def __init__(self, certificate: trustme.LeafCert) -> None:
        super().__init__()
        self._certificate = certificate

    def tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._certificate.configure_cert(context)
        return context


class FloodsTls(Tls, floods.FloodOfContinues):
    """Floods whoever has found its certificate good."""

    serve = floods.FloodOfContinues.serve


class NoTls(Server):
    """Answers a handshake with plain text."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


class ResetsHandshake(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        servers.reset(writer)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def trusting(backend: str, authority: trustme.CA) -> Iterator[Fetching]:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with fetching(settings(), port=made_by(backend, tls=context)) as one:
        yield one


def test_a_valid_certificate_is_accepted(web: Web, trusting: Fetching, authority: trustme.CA) -> None:
    server = Tls(authority.issue_cert("127.0.0.1"))
    with web.serving(server):
        answer = trusting.get(server.name, scheme="https")
    assert (answer.result.outcome, answer.result.scheme, answer.pages[0].body) == ("ok", "https", b"hello")


def test_a_flood_over_tls_is_hung_up_on(web: Web, trusting: Fetching, authority: trustme.CA) -> None:
    server = FloodsTls(authority.issue_cert("127.0.0.1"))
    with web.serving(server):
        answer = trusting.get(server.name, scheme="https")
    assert answer.result.outcome == "protocol"


@pytest.mark.parametrize("fault", ["wrong name", "expired", "self-signed"])
def test_a_certificate_that_does_not_hold_is_refused(
    fault: str, web: Web, trusting: Fetching, authority: trustme.CA
) -> None:
    certificate = {
        "wrong name": lambda: authority.issue_cert("other.example"),
        "expired": lambda: authority.issue_cert("127.0.0.1", not_after=PAST),
        "self-signed": lambda: trustme.CA().issue_cert("127.0.0.1"),
    }[fault]()
    server = Tls(certificate)
    with web.serving(server):
        answer = trusting.get(server.name, scheme="https")
    assert answer.result.outcome == "tls", answer.result
    assert "certificate" in answer.result.detail.lower()
    assert answer.pages == []
    assert server.requests == []


@pytest.mark.parametrize("kind", [NoTls, ResetsHandshake])
def test_a_handshake_that_fails_is_a_failure_to_connect(kind: type[Server], web: Web, trusting: Fetching) -> None:
    server = kind()
    with web.serving(server):
        answer = trusting.get(server.name, scheme="https")
    assert answer.result.outcome in ("tls", "connect"), answer.result
    assert answer.pages == []
