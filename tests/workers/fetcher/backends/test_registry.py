"""Backends are chosen by name and imported when chosen; one more is a folder and its name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gregor.config import load
from gregor.errors import ConfigError
from tests.workers.fetcher.backends import canned
from tests.workers.fetcher.fetching import fetching, order_of, settings
from workers.fetcher import backends
from workers.fetcher.backends.registry import BACKENDS, backend_named


def test_the_names_that_can_be_chosen_are_the_folders_that_there_are() -> None:
    folders = {one.parent.name for one in Path(backends.__path__[0]).glob("*/client.py")}
    assert folders == set(BACKENDS)
    assert load(None, {}).config.fetch.backend in BACKENDS


@pytest.mark.parametrize("name", sorted(BACKENDS))
def test_each_name_leads_to_a_backend(name: str) -> None:
    assert callable(backend_named(name))


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "gregor.toml"
    path.write_text('[fetch]\nbackend = "telnet"\n')
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert 'fetch.backend: found the string "telnet", expected one of "aiohttp", "archive"' in str(caught.value)


def test_a_backend_is_imported_when_it_is_chosen_and_not_before() -> None:
    program = "import sys, workers.fetcher.role; print([one for one in sys.modules if 'aiohttp' in one])"
    done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "[]\n"


def test_one_more_backend_is_a_folder_and_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "workers.fetcher.backends.canned.client", canned)
    config = settings(fetch__allow_addresses=["192.0.2.1/32"])
    chosen: Any = "canned"  # Its name in the configuration's Literal is not for a test to add.
    with fetching(replace(config, fetch=replace(config.fetch, backend=chosen))) as fetcher:
        answer = fetcher.run(order_of("192.0.2.1", "/", "/more", "/none"))
        refused = fetcher.get("192.0.2.2")
    assert [one.outcome for one in answer.fetched.results] == ["ok", "ok", "client-error"]
    assert [page.body for page in answer.pages] == [b"the front page", b"more of it", b""]
    assert refused.result.outcome == "address-refused"
