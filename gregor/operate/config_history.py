"""The configuration that a crawl runs under, kept in ``control`` with the crawl, so that its decisions can be explained later."""

from typing import Final

from msgspec.structs import replace

from gregor.config import Config
from gregor.config.text import as_toml, from_toml
from gregor.errors import ConfigError
from gregor.operate.control_state import ControlState, control_state
from gregor.runtime.transport.port import Output, Transport
from schemas.codec import encode
from schemas.control import ConfigVersion

KEY: Final = b"config"
LARGEST: Final = 512 * 1024
"""A longer text (a million seeds) is not kept: everybody reads ``control`` at every start."""


def remember(transport: Transport, config: Config, now_ms: int) -> bool:
    """Note the configuration, unless it is the one that was noted last; gives whether it was written."""
    last, text = control_state(transport).config, as_toml(config)
    record = ConfigVersion(version=config.config_version, text=text if len(text) <= LARGEST else "", since_ms=now_ms)
    if last is not None and last.version == record.version:
        # What decides nothing may differ all the same, such as whether pages are archived.
        record = replace(record, since_ms=last.since_ms)
    if record == last:
        return False
    transport.append([Output("control", 0, KEY, encode(record))])
    return True


def recall_config(known: ControlState) -> Config | None:
    """The configuration that was noted last; None: none was, or this version of gregor cannot obey it any more."""
    if known.config is None or not known.config.text:
        return None
    try:
        return from_toml(known.config.text)
    except ConfigError:
        return None
