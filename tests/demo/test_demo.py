"""The bundled demo site and its server."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from ada_url import normalize_url
from lxml import html  # type: ignore[import-untyped]

from gregor.demo.answer import OUTSIDE
from gregor.demo.server import DemoServer, read_log, requested, serve
from gregor.demo.site import DemoSite
from gregor.errors import GregorError


def get(url: str) -> tuple[int, str, bytes]:
    """(status, Location, body), no redirect followed."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
        response = connection.getresponse()
        return response.status, response.headers.get("Location") or "", response.read()
    finally:
        connection.close()


def crawled(demo: DemoServer) -> Counter[int]:
    """A crawl from the first seed, with nothing of gregor in it, within the site's hosts. Status → URLs."""
    hosts = {f"{address}:{demo.port}" for address in demo.site.addresses()}
    waiting, known, statuses = demo.seeds[:1], set(demo.seeds[:1]), Counter[int]()
    while waiting:
        url = waiting.pop()
        status, location, body = get(url)
        statuses[status] += 1
        hrefs = [location] if location else html.fromstring(body).xpath("//a/@href")
        for href in hrefs:
            joined = urldefrag(urljoin(url, href)).url
            if not joined.lower().startswith("http"):
                continue
            target = normalize_url(joined).replace("/%62eetles/", "/beetles/")
            if urlsplit(target).netloc in hosts and target not in known:
                known.add(target)
                waiting.append(target)
    return statuses


@pytest.mark.parametrize(("hosts", "pages_per_host"), [(4, 15), (1, 1), (7, 6)])
def test_a_crawl_from_one_seed_asks_for_exactly_the_urls_the_site_says(hosts: int, pages_per_host: int) -> None:
    with serve(DemoSite(seed=3, hosts=hosts, pages_per_host=pages_per_host)) as demo:
        assert [urlsplit(seed).hostname for seed in demo.seeds] == demo.site.addresses()
        statuses = crawled(demo)
        assert demo.requested() == Counter(demo.site.urls())
        assert statuses[200] == len(demo.site.pages()) == hosts * pages_per_host
        assert statuses[301] == 2 * hosts
        assert statuses[302] == 3 * hosts
        assert statuses[404] == 2 * hosts


def test_the_same_seed_makes_the_same_pages_and_another_seed_other_ones() -> None:
    def bodies(seed: int) -> list[str]:
        site = DemoSite(seed=seed, port=8080)
        return [site.answer("127.0.0.2", urlsplit(url).path).body for url in sorted(site.pages()) if "?" not in url]

    assert bodies(1) == bodies(1)
    assert bodies(1) != bodies(2)


def test_the_hosts_are_different_addresses_of_one_port() -> None:
    site = DemoSite(hosts=600, pages_per_host=1, port=8080)
    assert len(set(site.addresses())) == 600
    assert {urlsplit(url).port for url in site.urls()} == {8080}
    assert all(address.startswith("127.") and not address.endswith((".0", ".255")) for address in site.addresses())


def test_every_page_offers_links_that_a_crawl_must_not_follow() -> None:
    page = DemoSite(port=8080).answer("127.0.0.1", "/").body
    assert all(text in page for text in (OUTSIDE, "mailto:", "javascript:", "tel:"))


def test_a_chain_of_redirects_ends_on_another_host() -> None:
    with serve(DemoSite()) as demo:
        url, statuses = demo.site.url(0, "/hop/1"), []
        while True:
            status, location, _ = get(url)
            statuses.append(status)
            if not location:
                break
            url = urljoin(url, location)
        assert statuses == [302, 301, 302, 200]
        assert urlsplit(url).netloc == f"127.0.0.2:{demo.port}"


def test_robots_txt_allows_everything_and_is_not_counted_as_a_page() -> None:
    with serve(DemoSite()) as demo:
        status, _, body = get(demo.site.url(0, "/robots.txt"))
        assert (status, body) == (200, b"User-agent: *\nAllow: /\n")
        assert not demo.requested()
        assert [line.path for line in demo.log] == ["/robots.txt"]


def test_another_process_can_read_the_log_while_the_site_is_served(tmp_path: Path) -> None:
    log_file = tmp_path / "requests.jsonl"
    with serve(DemoSite(), log_file=log_file) as demo:
        get(demo.site.url(1, "/missing/wing.html"))
        get(demo.site.url(0, "/"))
        seen = subprocess.run(
            [sys.executable, "-c", "import sys; print(open(sys.argv[1]).read(), end='')", str(log_file)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        assert seen.count("\n") == 2
        assert read_log(log_file) == demo.log
        assert [line.status for line in demo.log] == [404, 200]
        assert requested(demo.log) == Counter([demo.site.url(0, "/"), demo.site.url(1, "/missing/wing.html")])


def test_a_half_written_line_of_the_log_is_left_out(tmp_path: Path) -> None:
    log_file = tmp_path / "requests.jsonl"
    log_file.write_bytes(b'{"time":1.5,"host":"127.0.0.1:1","path":"/","status":200}\n{"time":2')
    assert [(line.host, line.path, line.status) for line in read_log(log_file)] == [("127.0.0.1:1", "/", 200)]


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do() -> None:
    with (
        serve(DemoSite(hosts=2)) as demo,
        pytest.raises(GregorError, match="choose another port"),
        serve(DemoSite(hosts=2, port=demo.port)),
    ):
        pass


def test_a_site_that_is_not_served_has_no_urls() -> None:
    with pytest.raises(ValueError, match="found none"):
        DemoSite().urls()
