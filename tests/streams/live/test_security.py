"""Kafka's security settings as Faust's client gets them; what they say of TLS is tried on a real connection."""

import socket
import ssl
import threading
from pathlib import Path

import faust
import pytest
import trustme
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from gregor.errors import ConfigError
from streams.live.security import credentials_of


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def context_of(**settings: str) -> ssl.SSLContext:
    security = {"security.protocol": "ssl", **{name.replace("_", "."): value for name, value in settings.items()}}
    credentials = credentials_of(security)
    assert isinstance(credentials, faust.SSLCredentials)
    return credentials.context


def handshake(authority: trustme.CA, context: ssl.SSLContext, host: str = "broker.test") -> str:
    """With a broker of that name which wants a certificate of the authority; gives what it says."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("broker.test").configure_cert(serving)
    authority.configure_trust(serving)
    serving.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            try:
                with serving.wrap_socket(listening.accept()[0], server_side=True) as peer:
                    peer.sendall(b"welcome")
            except (ssl.SSLError, OSError):
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                socket.create_connection(listening.getsockname()) as plain,
                context.wrap_socket(plain, server_hostname=host) as peer,
            ):
                return peer.recv(100).decode()
        finally:
            thread.join()


def test_without_settings_there_are_no_credentials() -> None:
    assert credentials_of({}) is None
    assert credentials_of({"security.protocol": "PLAINTEXT"}) is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("key", ["sasl.mechanism", "sasl.mechanisms"])
def test_a_name_and_password_reach_the_client(mechanism: str, key: str) -> None:
    given = {"security.protocol": "SASL_PLAINTEXT", key: mechanism, "sasl.username": "ann", "sasl.password": "secret"}
    auth = credentials_to_aiokafka_auth(credentials_of(given))
    assert (auth["security_protocol"], auth["sasl_mechanism"]) == ("SASL_PLAINTEXT", mechanism)
    assert (auth["sasl_plain_username"], auth["sasl_plain_password"]) == ("ann", "secret")
    assert auth["ssl_context"] is None


def test_over_tls_they_reach_it_too() -> None:
    given = {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "a", "sasl.password": "b"}
    auth = credentials_to_aiokafka_auth(credentials_of(given))
    assert auth["security_protocol"] == "SASL_SSL"
    assert auth["ssl_context"].verify_mode == ssl.CERT_REQUIRED


def test_the_named_authority_is_believed_and_our_certificate_shown(authority: trustme.CA, tmp_path: Path) -> None:
    ca, mine = tmp_path / "ca.pem", authority.issue_cert("views.test")
    authority.cert_pem.write_to_path(ca)
    key, chain = tmp_path / "key.pem", tmp_path / "cert.pem"
    mine.private_key_pem.write_to_path(key)
    mine.cert_chain_pems[0].write_to_path(chain)
    by_files = context_of(ssl_ca_location=str(ca), ssl_certificate_location=str(chain), ssl_key_location=str(key))
    assert handshake(authority, by_files) == "welcome"
    by_text = context_of(ssl_ca_pem=ca.read_text(), ssl_certificate_pem=chain.read_text(), ssl_key_pem=key.read_text())
    assert handshake(authority, by_text) == "welcome"


def test_a_broker_of_another_authority_or_name_is_refused_unless_that_is_asked_for(
    authority: trustme.CA, tmp_path: Path
) -> None:
    mine = authority.issue_cert("views.test").private_key_and_cert_chain_pem.bytes().decode()
    own = {"ssl_certificate_pem": mine, "ssl_key_pem": mine}
    ca = authority.cert_pem.bytes().decode()
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(authority, context_of(**own))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(authority, context_of(ssl_ca_pem=ca, **own), host="other.test")
    lenient = context_of(ssl_ca_pem=ca, ssl_endpoint_identification_algorithm="none", **own)
    assert handshake(authority, lenient, host="other.test") == "welcome"
    blind = context_of(enable_ssl_certificate_verification="false", **own)
    assert handshake(authority, blind, host="other.test") == "welcome"


@pytest.mark.parametrize(
    "given",
    [
        {"sasl.oauthbearer.config": "token"},
        {"ssl.keystore.location": "/store.p12"},
        {"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"},
        {"security.protocol": "sasl_plaintext"},
        {"security.protocol": "telepathy"},
        {"security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"},
        {"security.protocol": "ssl", "ssl.ca.pem": "hidden-text-that-is-no-certificate"},
    ],
)
def test_what_the_client_cannot_do_is_refused_and_nothing_secret_told(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        credentials_of({**given, "sasl.password": "hidden"})
    assert "kafka.security" in str(refusal.value)
    assert "hidden" not in str(refusal.value)
