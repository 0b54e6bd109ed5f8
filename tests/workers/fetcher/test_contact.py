"""A crawl of public hosts shows a contact, or does not begin."""

from __future__ import annotations

import pytest

from gregor.errors import ConfigError
from tests.workers.fetcher.fetching import settings
from workers.fetcher.contact import require_contact


@pytest.mark.parametrize(
    "seed", ["https://example.org/", "http://8.8.8.8/", "http://[2606:4700::1111]/", "http://my.host.name:8080/"]
)
def test_a_public_seed_without_a_contact_is_refused_with_what_to_do(seed: str) -> None:
    with pytest.raises(ConfigError, match=r"crawl\.contact: found none.*set crawl\.contact to a URL") as refusal:
        require_contact(settings(crawl__contact="", crawl__seeds=[seed]))
    assert seed in str(refusal.value)
    with pytest.raises(ConfigError):
        require_contact(settings(crawl__contact=""), [seed])


@pytest.mark.parametrize(
    "seed", ["http://127.0.0.1:8080/", "http://localhost/", "http://a.test/", "http://10.1.2.3/", "http://[::1]/"]
)
def test_hosts_of_one_s_own_need_no_contact(seed: str) -> None:
    require_contact(settings(crawl__contact="", crawl__seeds=[seed]), [seed])


def test_a_crawl_that_follows_links_anywhere_needs_a_contact() -> None:
    with pytest.raises(ConfigError, match="scope"):
        require_contact(settings(crawl__contact="", crawl__scope="any"), ["http://127.0.0.1/"])


def test_with_a_contact_everything_may_begin() -> None:
    require_contact(settings(crawl__scope="any"), ["https://example.org/"])
