"""Secrets in the configuration: references to them, their resolution, and what may be shown."""

import re
from collections.abc import Mapping
from pathlib import Path

from gregor.errors import ConfigError

HIDDEN = "***"
MAX_SECRET_BYTES = 65_536

_SECRET = re.compile(
    r"password|secret|key\.pem|oauthbearer\.config|token$|authorization|cookie|api-?key", re.IGNORECASE
)
_REFERENCE = re.compile(r"(env|file):(.+)", re.DOTALL)


def is_secret(name: str) -> bool:
    """Whether a setting of librdkafka or a header of this name holds something that nobody may see."""
    return _SECRET.search(name) is not None


def is_reference(value: str) -> bool:
    return _REFERENCE.fullmatch(value) is not None


def shown(name: str, value: str) -> str:
    """The value as it may be printed: a reference says where the secret is, not what it is."""
    if is_reference(value):
        return f"{HIDDEN} ({value})"
    return HIDDEN if is_secret(name) else value


def resolve(values: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """The values with every reference replaced by what it points to. Not to be logged or kept."""
    return {name: _resolved(name, value, env) for name, value in values.items()}


def _resolved(name: str, value: str, env: Mapping[str, str]) -> str:
    reference = _REFERENCE.fullmatch(value)
    if reference is None:
        return value
    kind, target = reference.groups()
    if kind == "env":
        if target not in env:
            raise ConfigError(f"{name}: found {value}, but the environment variable {target} is not set")
        return env[target]
    try:
        with Path(target).open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        if len(content) > MAX_SECRET_BYTES:
            raise ConfigError(f"{name}: found {value}, but the file is larger than {MAX_SECRET_BYTES} bytes")
        return content.decode().rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{name}: found {value}, but the file cannot be read: {reason}") from None
