"""Kafka's security settings, which are written as librdkafka wants them, in the terms of Faust's client.

What has no counterpart there is refused: a setting of security that is passed over in silence is worse than none.
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import faust
from faust.types.auth import CredentialsT

from gregor.config.secrets import is_secret
from gregor.errors import ConfigError

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PROTOCOLS: Final = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_KNOWN: Final = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.username",
        "sasl.password",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.pem",
        "ssl.key.password",
        "ssl.cipher.suites",
        "ssl.endpoint.identification.algorithm",
        "enable.ssl.certificate.verification",
    }
)


def credentials_of(security: Mapping[str, str]) -> CredentialsT | None:
    """Of settings whose references are resolved; None: neither encryption nor a name is asked for."""
    for name in security:
        if name not in _KNOWN:
            raise ConfigError(
                f"kafka.security.{name}: expected a setting that the views' client has too, found one that it has not",
                remedy=f"use {', '.join(sorted(_KNOWN))}, or run no views worker",
            )
    protocol = _one_of(security, "security.protocol", _PROTOCOLS, "plaintext")
    context = _context(security) if protocol.endswith("ssl") else None
    if protocol.startswith("sasl"):
        key = "sasl.mechanism" if "sasl.mechanism" in security else "sasl.mechanisms"
        return faust.SASLCredentials(
            username=security.get("sasl.username", ""),
            password=security.get("sasl.password", ""),
            ssl_context=context,
            mechanism=_one_of(security, key, MECHANISMS, ""),
        )
    return faust.SSLCredentials(context) if context is not None else None


def _one_of(security: Mapping[str, str], name: str, known: tuple[str, ...], default: str) -> str:
    value = security.get(name, default)
    found = next((one for one in known if one.lower() == value.lower()), None)
    if found is None:
        shown = repr(value) if value and not is_secret(name) else "nothing"
        raise ConfigError(f"kafka.security.{name}: expected one of {', '.join(known)} for the views, found {shown}")
    return found


def _context(security: Mapping[str, str]) -> ssl.SSLContext:
    try:
        context = _authorities(security)
        if ciphers := security.get("ssl.cipher.suites"):
            context.set_ciphers(ciphers)
        if security.get("ssl.endpoint.identification.algorithm", "https").lower() == "none":
            context.check_hostname = False
        if security.get("enable.ssl.certificate.verification", "true").lower() == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _present(context, security)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise ConfigError(
            f"kafka.security: expected certificates and a key that can be read, found that they cannot ({reason})",
            remedy="look at the settings that begin with ssl.",
        ) from None
    return context


def _authorities(security: Mapping[str, str]) -> ssl.SSLContext:
    """Whom to believe: those that are named, else those of the system."""
    location = security.get("ssl.ca.location", "")
    folder = bool(location) and Path(location).is_dir()
    return ssl.create_default_context(
        cafile=location if location and not folder else None,
        capath=location if folder else None,
        cadata=security.get("ssl.ca.pem") or None,
    )


def _present(context: ssl.SSLContext, security: Mapping[str, str]) -> None:
    """Our own certificate, if there is one. OpenSSL takes it from files alone: those that stand in the settings exist for a moment."""
    with TemporaryDirectory() as folder:
        places = {}
        for part in ("certificate", "key"):
            places[part] = security.get(f"ssl.{part}.location", "")
            if text := security.get(f"ssl.{part}.pem"):
                place = Path(folder) / part
                place.touch(mode=0o600)
                place.write_text(text)
                places[part] = str(place)
        if places["certificate"]:
            password = security.get("ssl.key.password")
            # Never ask at a terminal: an empty password is a wrong one.
            context.load_cert_chain(places["certificate"], places["key"] or None, lambda: password or "")
