"""Settings from environment variables: GREGOR_<SECTION>__<KEY>=value, the value in TOML or as plain text."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gregor.config.keys import KEYS, SECURITY

PREFIX: Final = "GREGOR_"


def variables(env: Mapping[str, str]) -> Iterator[tuple[str, str, Any]]:
    """(variable, key path, value) of every variable that means a setting, known or not.

    A name without `__` is none of ours to judge: GREGOR_CONFIG and GREGOR_CACHE are read elsewhere.
    """
    for name in sorted(env):
        if name.startswith(PREFIX) and "__" in name:
            path = _path(name.removeprefix(PREFIX))
            yield name, path, value_of(path, env[name])


def _path(name: str) -> str:
    """FETCH__DELAY_S is fetch.delay_s; KAFKA__SECURITY__SASL_PASSWORD is kafka.security.sasl.password."""
    section, _, rest = name.lower().partition("__")
    key, deeper, entry = rest.partition("__")
    path = f"{section}.{key}"
    if not deeper:
        return path
    return f"{path}.{entry.replace('_', '.')}" if path == SECURITY else f"{path}.{entry}"


def value_of(path: str, text: str) -> Any:
    """What a text means as the value of a setting."""
    known = KEYS.get(path)
    if path.startswith(f"{SECURITY}.") or len(text) > 65_536 or text.count(".") > 1000:
        return text
    try:
        tree = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    parsed = tree["value"] if tree.keys() == {"value"} else text
    # Where text is wanted, 2024 means the text "2024".
    return text if known is not None and known.takes_text and not isinstance(parsed, str) else parsed
