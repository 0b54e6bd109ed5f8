"""The configuration that a crawl is judged by once more: its own, another file's, or either of them with single settings changed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from gregor.cli.settings import CliSettings
from gregor.cli.target import configuration
from gregor.config import Config, Flag, load
from gregor.config.environment import value_of
from gregor.config.text import as_toml
from gregor.errors import UsageError
from gregor.operate.control_state import ControlState
from gregor.operate.crawl_handle import CrawlHandle


def judged_by(
    settings: CliSettings,
    handle: CrawlHandle,
    known: ControlState,
    bootstrap: str | None,
    file: Path | None,
    changes: Sequence[str],
) -> tuple[Config, str]:
    """The configuration, and where it comes from. Its crawl, its cluster and its layout are always those of the crawl itself."""
    own, source = configuration(settings, handle, known, bootstrap)
    config = own
    if file is not None:
        if not file.exists():
            raise UsageError(f"expected a configuration file, found none: {file}")
        config, source = load(file, {}).config, f"from {file}"
    flags = dict(_change(text) for text in changes)
    if flags:
        config = _changed(config, flags)
        source = f"{source}, with {', '.join(changes)}"
    crawl = config.crawl
    if file is not None:
        crawl = replace(crawl, seeds=crawl.seeds or own.crawl.seeds)
    return replace(config, crawl=replace(crawl, name=handle.crawl), kafka=own.kafka, partitions=own.partitions), source


def _change(text: str) -> tuple[str, Flag]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"expected KEY=VALUE such as crawl.max_depth=3, found {text!r}")
    key = key.strip()
    return key, Flag(value_of(key, value.strip()), f"--set {key}")


def _changed(config: Config, flags: dict[str, Flag]) -> Config:
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(as_toml(config))
        file.flush()
        return load(Path(file.name), {}, flags).config
