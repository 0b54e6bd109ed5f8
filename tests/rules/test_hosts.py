"""One table of servers and entries of the configuration, put to everybody who asks whether the one is meant by the other."""

from collections.abc import Callable

import pytest

from gregor.config import Config, ServerRule
from gregor.config.sections import CrawlSection
from gregor.config.sections import ScopeSection as ScopeSettings
from gregor.rules.hosts import servers_in_scope
from gregor.rules.scope import LinkScope
from gregor.url.canonical import Url, UrlRefusal, split

# fmt: off
HOSTS = [
    # entry, URL, whether the entry means it
    ("example.com", "http://example.com/", True),
    ("example.com", "https://example.com:8443/", True),
    ("example.com", "http://EXAMPLE.com./", True),
    ("example.com", "http://example.com.:81/", True),
    ("EXAMPLE.com", "http://example.com/", True),
    ("example.com.", "http://example.com/", True),
    ("example.com.:81", "http://example.com:81/", True),
    ("example.com", "http://www.example.com/", False),
    ("example.com", "http://example.com.evil.test/", False),
    ("example.com", "http://example.com@evil.test/", False),
    ("example.com", "http://evil.test/example.com", False),
    ("example.com:81", "http://example.com:81/", True),
    ("example.com:81", "http://example.com/", False),
    ("example.com:81", "http://example.com:811/", False),
    ("example.com:443", "http://example.com:443/", True),
    ("example.com:443", "https://example.com/", False),
    ("example.com:*", "http://example.com:81/", True),
    ("example.com:*", "http://example.com/", False),
    ("example.com:8?", "http://example.com:81/", True),
    ("example.com:8?", "http://example.com:8/", False),
    ("*:8080", "http://anything.test:8080/", True),
    ("*:8080", "http://anything.test/", False),
    ("*.example.com", "http://a.b.example.com:81/", True),
    ("*.example.com", "http://example.com/", False),
    ("exam*1", "http://example.com:81/", False),
    ("ex?mple.com", "http://example.com/", True),
    ("*", "http://[::1]:81/", True),
    ("xn--bcher-kva.example", "http://bücher.example/", True),
    ("xn--bcher-kva.example", "http://BÜCHER.example:81/", True),
    ("127.0.0.1", "http://127.0.0.1:9000/", True),
    ("127.0.0.1", "http://2130706433/", True),
    ("127.0.0.*", "http://127.0.0.7/", True),
    ("127.0.0.?", "http://127.0.0.77/", False),
    ("127.0.0.1:81", "http://127.0.0.1/", False),
    ("[::1]", "http://[::1]/", True),
    ("[::1]", "http://[::1]:8080/", True),
    ("[::1]", "http://[0:0:0:0:0:0:0:1]:8080/", True),
    ("[::1]", "http://[::11]/", False),
    ("[::1]:8080", "http://[::1]:8080/", True),
    ("[::1]:8080", "http://[::1]/", False),
    ("[::1]:*", "http://[::1]:8080/", True),
    ("[::1]:*", "http://[::1]/", False),
    ("[2001:DB8::*]", "http://[2001:db8::7]:81/", True),
    ("[2001:db8::*]:81", "http://[2001:db8::7]:81/", True),
    ("[2001:db8::*]:81", "http://[2001:db8::7]/", False),
    ("[2001:db8::1?", "http://[2001:db8::1]:81/", True),
    ("[::ffff:7f00:1]", "http://[::ffff:127.0.0.1]/", True),
    ("127.0.0.1", "http://[::ffff:127.0.0.1]/", False),
]
DOMAINS = [
    ("example.org", "http://example.org/", True),
    ("example.org", "http://a.b.example.org:81/", True),
    ("example.org", "http://a.EXAMPLE.org./", True),
    ("example.org.", "http://a.example.org/", True),
    ("example.org", "http://example.org.evil.test/", False),
    ("example.org", "http://xexample.org/", False),
    ("co.uk", "http://a.co.uk/", False),
    ("127.0.0.1", "http://127.0.0.1:81/", True),
    ("127.0.0.1", "http://7.127.0.0.1/", False),
]
# fmt: on

Asker = Callable[[Config], Callable[[str], bool]]
ASKERS: dict[str, Asker] = {
    "extractor": lambda config: LinkScope(config).holds,
    "extractor after a redirect": lambda config: LinkScope(config).with_server("elsewhere.test").holds,
    "frontier": servers_in_scope,
}


def asked(config: Config, url: str, asker: Asker) -> bool:
    found = split(url)
    return isinstance(found, Url) and asker(config)(found.server)


@pytest.mark.parametrize(("entry", "url", "means"), HOSTS)
def test_everybody_takes_an_entry_for_the_same_hosts(entry: str, url: str, means: bool) -> None:
    config = Config(crawl=CrawlSection(seeds=("http://seed.test/",)), scope=ScopeSettings(hosts=(entry,)))
    answers = {name: asked(config, url, asker) for name, asker in ASKERS.items()}
    rule = Config(server=(ServerRule(match=entry, delay_s=9),))
    answers["[[server]]"] = asked(rule, url, lambda config: lambda server: config.for_server(server).delay_s == 9)
    assert answers == dict.fromkeys(answers, means)


@pytest.mark.parametrize(("entry", "url", "means"), DOMAINS)
def test_everybody_takes_an_entry_for_the_same_domain(entry: str, url: str, means: bool) -> None:
    config = Config(crawl=CrawlSection(seeds=("http://seed.test/",)), scope=ScopeSettings(domains=(entry,)))
    answers = {name: asked(config, url, asker) for name, asker in ASKERS.items()}
    assert answers == dict.fromkeys(answers, means)


@pytest.mark.parametrize("url", ["http://user@example.com/", "http://user:word@[::1]:81/"])
def test_a_url_with_user_information_is_in_nobodys_scope(url: str) -> None:
    assert split(url) == UrlRefusal("credentials")


@pytest.mark.parametrize("seed", ["http://[::1]:8080/", "http://example.com:81/", "http://127.0.0.1/"])
@pytest.mark.parametrize("kind", ["hosts", "domains", "any"])
def test_everybody_takes_the_seeds_for_the_same_servers(seed: str, kind: str) -> None:
    config = Config(crawl=CrawlSection(seeds=(seed, "not a URL"), scope=kind))  # type: ignore[arg-type]
    for server in ("[::1]", "[::1]:8080", "[::1]:81", "example.com", "www.example.com:81", "127.0.0.1:81", "127.0.0.1"):
        answers = {name: asker(config)(server) for name, asker in ASKERS.items()}
        assert len(set(answers.values())) == 1, (server, answers)
    found = split(seed)
    assert isinstance(found, Url)
    assert servers_in_scope(config)(found.server)
