"""A broker that talks TLS and asks for a password: settings pass through to every client, and the password is seen by nobody."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from gregor.config import Names
from infra.kafka.cluster import KafkaCluster
from infra.kafka.ports import HOST, held_ports
from tests.chaos.processes import PATIENCE_S, REPOSITORY, until
from tests.runtime.metrics.test_server import get, healthy, samples

USER = "crawler"
PASSWORD = f"hidden-{secrets.token_hex(8)}"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def guarded(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a listener with TLS and SCRAM."""
    store = tmp_path_factory.mktemp("certificates") / "broker.pem"
    store.write_bytes(key_and_chain(authority.issue_cert(HOST)))
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SIDE:SASL_SSL,CONTROLLER:PLAINTEXT",
        "listener.name.side.ssl.keystore.type": "PEM",
        "listener.name.side.ssl.keystore.location": str(store),
        "listener.name.side.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.side.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        # As a broker has it when nobody sets it.
        "offsets.retention.minutes": "10080",
    }
    with KafkaCluster(proxies=(0,), settings=settings) as kafka:
        mechanism = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        wanted = UserScramCredentialUpsertion(USER, mechanism, PASSWORD.encode())
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.alter_user_scram_credentials([wanted])[USER].result(60)
        yield f"{HOST}:{kafka.behind_proxies[0]}"


def key_and_chain(certificate: trustme.LeafCert) -> bytes:
    """As Java reads it: PKCS 8."""
    key = load_pem_private_key(certificate.private_key_pem.bytes(), None)
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return written + b"".join(blob.bytes() for blob in certificate.cert_chain_pems)


class Member:
    """Commands with one configuration, and everything that they ever said."""

    def __init__(self, folder: Path, guarded: str, authority: trustme.CA, password: str, patience_s: float) -> None:
        self.folder = folder
        self._guarded = guarded
        authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        self._file = folder / "gregor.toml"
        self.crawl = f"guarded-{secrets.token_hex(4)}"
        self._file.write_text(
            f"""
            [crawl]
            name = "{self.crawl}"
            [partitions]
            partitions = 2
            [kafka]
            bootstrap = "{guarded}"
            give_up_after_s = {patience_s}
            [kafka.security]
            "security.protocol" = "SASL_SSL"
            "sasl.mechanism" = "SCRAM-SHA-512"
            "sasl.username" = "{USER}"
            "sasl.password" = "env:BROKER_PASSWORD"
            "ssl.ca.location" = "{folder / "authority.pem"}"
            """
        )
        self._environment = {**os.environ, "BROKER_PASSWORD": password}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "gregor", "--config", str(self._file), *arguments]

    def run(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            self.command(*arguments),
            cwd=REPOSITORY,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        return done.returncode, done.stdout

    def allow(self, kind: ResourceType, name: str, *operations: AclOperation) -> None:
        """On whatever begins with the name; once something is allowed, everything else is not."""
        admin = AdminClient(
            {
                "bootstrap.servers": self._guarded,
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": USER,
                "sasl.password": PASSWORD,
                "ssl.ca.location": str(self.folder / "authority.pem"),
            }
        )
        beginning, who, yes = ResourcePatternType.PREFIXED, f"User:{USER}", AclPermissionType.ALLOW
        wanted = [AclBinding(kind, name, beginning, who, "*", operation, yes) for operation in operations]
        for made in admin.create_acls(wanted).values():
            made.result(60)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        log = (self.folder / "worker.log").open("w")
        return subprocess.Popen(
            self.command(*arguments), cwd=REPOSITORY, env=self._environment, stdout=log, stderr=log, text=True
        )


def test_commands_and_workers_talk_to_it_and_nobody_sees_the_password(
    tmp_path: Path, guarded: str, authority: trustme.CA
) -> None:
    member = Member(tmp_path, guarded, authority, PASSWORD, 60.0)
    said = []
    for arguments in (("topics", "--create"), ("seed", "http://127.0.0.1:9/"), ("config", "show")):
        code, printed = member.run(*arguments)
        assert code == 0, printed
        said.append(printed)
    assert "*** (env:BROKER_PASSWORD)" in said[-1]
    assert "the brokers forget where workers stand 7 days after the last of a role has left" in said[0]
    with held_ports(1) as (port,):
        pass
    worker = member.start("worker", "frontier", "--folder", str(tmp_path / "state"), "--metrics-port", str(port))
    try:

        def ordered() -> bool:
            assert worker.poll() is None, (tmp_path / "worker.log").read_text()
            shown = samples(get(port, "/metrics")[1]) if healthy(port)[0] else {}
            names = {name for name, _ in shown}
            orders = sum(value for (name, of), value in shown.items() if ("event", "orders") in of)
            # The survey has clients of its own.
            return orders > 0 and "gregor_lag_records" in names

        until(ordered, "the seed is ordered, and lag is known")
        said.append(get(port, "/metrics")[1])
    finally:
        worker.terminate()
    assert worker.wait(PATIENCE_S) == 0
    code, printed = member.run("status")
    assert code == 0, printed
    said += [printed, (tmp_path / "worker.log").read_text()]
    assert PASSWORD not in "".join(said)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if PASSWORD.encode() in path.read_bytes()]


def test_a_topic_that_may_not_be_read_ends_a_worker_in_one_sentence(
    tmp_path: Path, guarded: str, authority: trustme.CA
) -> None:
    member = Member(tmp_path, guarded, authority, PASSWORD, 60.0)
    code, printed = member.run("topics", "--create")
    assert code == 0, printed
    topic = Names(member.crawl).topic("archive")
    member.allow(ResourceType.TOPIC, topic, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    code, printed = member.run("worker", "archiver", "--folder", str(tmp_path / "state"))
    assert code == 2, printed
    assert f"{topic} cannot be read: " in printed.splitlines()[-1]
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ResourceType.TRANSACTIONAL_ID, "the broker refuses transactions of"),
        (ResourceType.GROUP, "the broker refused: "),
    ],
)
def test_a_name_that_may_not_be_used_ends_a_worker_in_one_sentence(
    kind: ResourceType, said: str, tmp_path: Path, guarded: str, authority: trustme.CA
) -> None:
    member = Member(tmp_path, guarded, authority, PASSWORD, 60.0)
    code, printed = member.run("topics", "--create")
    assert code == 0, printed
    member.allow(kind, member.crawl, AclOperation.DESCRIBE)
    code, printed = member.run("worker", "fetcher", "--folder", str(tmp_path / "state"))
    assert code == 2, printed
    assert said in printed.splitlines()[-1]
    assert "Traceback" not in printed


def test_a_wrong_password_and_a_broker_that_cannot_be_trusted_are_one_sentence_each(
    tmp_path: Path, guarded: str, authority: trustme.CA
) -> None:
    wrong = "wrong-" + secrets.token_hex(8)
    for trusted, password, reason in (
        (authority, wrong, "Authentication failed"),
        (trustme.CA(), PASSWORD, "certificate verify failed"),
    ):
        code, printed = Member(tmp_path, guarded, trusted, password, 5.0).run("topics")
        assert code == 2, printed
        last = printed.splitlines()[-1]
        assert f"no Kafka broker at {guarded} let us in" in last
        assert reason in last
        assert "correct kafka.security" in last
        assert "Traceback" not in printed
        assert password not in printed


def test_an_authority_that_is_not_there_is_one_sentence(tmp_path: Path, guarded: str, authority: trustme.CA) -> None:
    member = Member(tmp_path, guarded, authority, PASSWORD, 5.0)
    (tmp_path / "authority.pem").unlink()
    code, printed = member.run("topics")
    assert code == 3, printed
    (line,) = printed.splitlines()
    assert "found some that it refuses: Failed to create admin client: ssl.ca.location failed" in line
    assert line.endswith("correct kafka.security")
