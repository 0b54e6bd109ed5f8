"""A configuration written as TOML and read back decides the same."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.config import Config, load
from gregor.config.sections import (
    CrawlSection,
    FetchSection,
    ItemField,
    ItemRule,
    KafkaSection,
    ScopeSection,
    ServerRule,
)
from gregor.config.text import as_toml, from_toml
from gregor.errors import ConfigError

HOSTS = st.text("abc-*?.", min_size=1, max_size=20)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
CONFIGS = st.builds(
    Config,
    crawl=st.builds(
        CrawlSection,
        name=st.from_regex("[a-z0-9][a-z0-9-]{0,10}", fullmatch=True),
        seeds=st.lists(st.text("abc/?=%é€😀\"'\\", max_size=9).map(lambda t: f"https://e.example/{t}"), max_size=3).map(
            tuple
        ),
        max_depth=st.integers(0, 10**12),
        scope=st.sampled_from(["hosts", "domains", "any"]),
    ),
    fetch=st.builds(FetchSection, delay_s=st.floats(0, 86_400), allow_addresses=st.just(("127.0.0.0/8", "fd00::/8"))),
    scope=st.builds(ScopeSection, hosts=st.lists(HOSTS, max_size=3).map(tuple)),
    kafka=st.builds(KafkaSection, security=st.just({"sasl.password": "env:SECRET", "sasl.username": 'a"b'})),
    server=st.lists(
        st.builds(
            ServerRule,
            match=HOSTS,
            delay_s=st.none() | st.floats(0, 100),
            obey_robots=st.none() | st.booleans(),
            headers=st.dictionaries(st.from_regex("X-[a-z]{1,9}", fullmatch=True), st.text("a \"\\'é", max_size=9)),
        ),
        max_size=3,
    ).map(tuple),
    item=st.lists(
        st.builds(
            ItemRule,
            name=st.just("price"),
            match=st.just("/p/\\d+"),
            fields=st.dictionaries(
                TEXTS, st.builds(ItemField, css=st.just("h1::text"), many=st.booleans()), min_size=1
            ),
        ),
        max_size=1,
    ).map(tuple),
)


@given(CONFIGS)
def test_what_was_written_is_read_back_as_it_was(config: Config) -> None:
    again = from_toml(as_toml(config))
    assert again == config
    assert again.config_version == config.config_version


def test_only_what_differs_from_the_defaults_is_written(tmp_path: Path) -> None:
    assert as_toml(Config()) == ""
    file = tmp_path / "gregor.toml"
    file.write_text('[crawl]\nseeds = ["https://example.com/"]\nscope = "hosts"\n')
    assert tomllib.loads(as_toml(load(file, {}).config)) == {"crawl": {"seeds": ["https://example.com/"]}}


def test_a_secret_in_plain_text_is_left_out() -> None:
    headers = {"Authorization": "Bearer hunter2", "Cookie": "env:COOKIE", "X-Team": "crawl"}
    text = as_toml(Config(server=(ServerRule(match="*", headers=headers),)))
    assert "hunter2" not in text
    assert from_toml(text).server[0].headers == {"Cookie": "env:COOKIE", "X-Team": "crawl"}


def test_a_text_that_cannot_be_obeyed_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match=r"the crawl's own configuration:1: fetch\.dely_s"):
        from_toml("fetch.dely_s = 1\n")
