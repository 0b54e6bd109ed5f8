"""Paper 001's Table I and Figure 3: how many links the caching URL filter answers, on real and synthetic sites.

A hit is a link for which no message is sent: its URL stands in one of the two lists in memory, or comes back from the
local store with its group. `memory` counts the first kind alone. NL counts a page's links without its own repeats, NLAF
the URLs that are left, and 1 - NLAF / NL is what no filter can pass on a first crawl. The cache holds a tenth of the
URLs unless the sweep says otherwise. `best` is what an optimal cache of that size, which knows the future, would answer
from memory without any prefetch.
"""

import argparse
import heapq
import json
import math
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from bench.site_links import Site, real, synthetic
from workers.extractor.filter.cache import UrlFilter
from workers.extractor.filter.lists import FilterSettings
from workers.extractor.filter.store import GroupStore

PAPER = (
    ("cs.scu.edu.cn", 1408, 399, 59.5, 100.0),
    ("www.jtstar.com", 13986, 1321, 89.7, 96.6),
    ("www.scu.edu.cn", 23550, 7837, 64.5, 77.9),
    ("news.sina.com.cn", 38763, 11861, 67.1, 78.7),
    ("www.xinhuanet.com", 61918, 10368, 68.0, 88.6),
)
PAGES_PER_COMMIT = 20
SHARE = 0.1
EXCHANGE = 0.1
BLOOM_BITS = 10
"""Bits a URL: a false "known" in a hundred when it is full."""


class Pass(Struct):
    """One crawl of a site through a filter."""

    links: int = 0
    hits: int = 0
    memory: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.hits / self.links

    @property
    def memory_rate(self) -> float:
        return self.memory / self.links


def crawl(known: UrlFilter, pages: Sequence[tuple[str, list[str]]]) -> Pass:
    """Every page once, committed in batches."""
    counts = known.counts
    before, from_store = counts.hits, counts.store_hits
    began = time.perf_counter()
    links = 0
    for number, (path, targets) in enumerate(pages, 1):
        known.fetched("http", "site.example", path)
        entries = [known.find("http", "site.example", target) for target in targets]
        for entry in entries:
            entry.times = 1
            known.claim(entry, True)
        known.end_page()
        links += len(targets)
        if number % PAGES_PER_COMMIT == 0:
            known.committed()
    known.committed()
    hits = counts.hits - before
    return Pass(links, hits, hits - (counts.store_hits - from_store), time.perf_counter() - began)


def twice(site: Site, share: float, exchange: float) -> tuple[Pass, Pass, float]:
    """First crawl, re-crawl after a restart that begins with the most repeated URLs, and MB of memory when the first is done."""
    with tempfile.TemporaryDirectory() as folder:
        settings = FilterSettings(capacity=max(16, int(site.urls * share)), exchange=exchange)
        store = GroupStore(Path(folder) / "store")
        first = UrlFilter(settings, store)
        one = crawl(first, site.pages)
        memory = megabytes(first)
        again = UrlFilter(settings, store)
        again.start(1.0, first.finish())
        two = crawl(again, site.pages)
        again.finish()
        store.close()
    return one, two, memory


def megabytes(known: UrlFilter) -> float:
    """Of the lists: groups, entries and texts."""
    total = sys.getsizeof(known.lists.groups)
    for group in known.lists.groups.values():
        total += sys.getsizeof(group) + sys.getsizeof(group.visiting) + sys.getsizeof(group.visited)
        for entry in (*group.visiting.values(), *group.visited.values()):
            total += sys.getsizeof(entry) + sys.getsizeof(entry.path)
    return total / 1e6


def several(site: Site, nodes: int) -> Pass:
    """The same pages spread over nodes, each with its part of the capacity and nobody else's memory."""
    total = Pass()
    for node in range(nodes):
        part = [page for page in site.pages if xxh3_64_intdigest(page[0].encode()) % nodes == node]
        with tempfile.TemporaryDirectory() as folder:
            store = GroupStore(Path(folder) / "store")
            capacity = max(16, int(site.urls * SHARE / nodes))
            known = UrlFilter(FilterSettings(capacity=capacity, exchange=EXCHANGE), store)
            one = crawl(known, part)
            known.finish()
            store.close()
        total.links += one.links
        total.hits += one.hits
        total.memory += one.memory
    return total


def best_memory(site: Site) -> float:
    """Belady's cache of the same size."""
    trace = [target for _, targets in site.pages for target in targets]
    uses: dict[str, list[int]] = defaultdict(list)
    for index in range(len(trace) - 1, -1, -1):
        uses[trace[index]].append(index)
    capacity = max(16, int(site.urls * SHARE))
    cache: dict[str, int] = {}
    far: list[tuple[int, str]] = []
    hits = 0
    for url in trace:
        uses[url].pop()
        following = uses[url][-1] if uses[url] else len(trace)
        hits += url in cache
        cache[url] = following
        heapq.heappush(far, (-following, url))
        while len(cache) > capacity:
            use, victim = heapq.heappop(far)
            if cache.get(victim) == -use:
                del cache[victim]
    return hits / len(trace)


def hash_table(site: Site) -> tuple[float, float]:
    """(hit rate, MB) of a set of all URLs: the paper's first method."""
    seen: set[str] = set()
    hits = 0
    for _, targets in site.pages:
        for target in targets:
            hits += target in seen
            seen.add(target)
    return hits / site.links, (sys.getsizeof(seen) + sum(map(sys.getsizeof, seen))) / 1e6


def bloom(site: Site) -> tuple[float, float, int]:
    """(hit rate, MB, URLs lost) of a Bloom filter: the paper's second method. What it wrongly knows is never fetched."""
    bits = site.urls * BLOOM_BITS
    hashes = max(1, round(BLOOM_BITS * math.log(2)))
    table = bytearray(bits // 8 + 1)
    seen: set[str] = set()
    hits = lost = 0
    for _, targets in site.pages:
        for target in targets:
            name = target.encode()
            one, two = xxh3_64_intdigest(name), xxh3_64_intdigest(name, 1) | 1
            places = [(one + k * two) % bits for k in range(hashes)]
            if all(table[place >> 3] >> (place & 7) & 1 for place in places):
                hits += 1
                lost += target not in seen
            for place in places:
                table[place >> 3] |= 1 << (place & 7)
            seen.add(target)
    return hits / site.links, len(table) / 1e6, lost


def sites(quick: bool) -> list[Site]:
    names = ("python", "postgresql", "git") if quick else ("python", "postgresql", "git", "sqlite", "jsoncpp")
    pages = 1500 if quick else 10_000
    densities = ((20, 10), (60, 40), (150, 120))
    made = [synthetic(f"synthetic-{links}", pages, links, navigation) for links, navigation in densities]
    return [*map(real, names), *made]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller sites")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = sites(options.quick)
    rows = [table_row(site) for site in found]
    if options.json:
        print(json.dumps({"sites": rows}))
        return
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print_table(rows)
    print_baselines(found)
    print_sweep(found[0])
    print_sweep(found[-2])
    print_nodes(found)


def table_row(site: Site) -> dict[str, object]:
    first, again, memory = twice(site, SHARE, EXCHANGE)
    ceiling = 1 - site.urls / site.links
    return {
        "name": site.name,
        "links": site.links,
        "links_after_filter": site.urls,
        "links_per_page": round(site.links / len(site.pages), 1),
        "hit_first": round(first.rate, 4),
        "hit_again": round(again.rate, 4),
        "ceiling": round(ceiling, 4),
        "share_of_ceiling": round(first.rate / ceiling, 4),
        "memory_hit_first": round(first.memory_rate, 4),
        "memory_hit_again": round(again.memory_rate, 4),
        "best_memory_hit": round(best_memory(site), 4),
        "memory_mb": round(memory, 3),
        "us_per_link": round(first.seconds / first.links * 1e6, 1),
    }


def print_table(rows: list[dict[str, object]]) -> None:
    print("Table I and Figure 3, a cache of a tenth of the URLs, %:")
    names = ("NL", "NLAF", "links/page", "first", "again", "ceiling", "of it", "memory", "memory again", "best")
    print(f"{'':22}" + "".join(f"{name:>13}" for name in names))
    for name, links, left, first, again in PAPER:
        ceiling = 100 * (1 - left / links)
        cells = [f"{links}", f"{left}", "", f"{first}", f"{again}", f"{ceiling:.1f}", f"{100 * first / ceiling:.1f}"]
        print(f"{'paper: ' + name:22}" + "".join(f"{cell:>13}" for cell in cells))
    for row in sorted(rows, key=lambda row: float(str(row["links_per_page"]))):
        rates = (
            "hit_first",
            "hit_again",
            "ceiling",
            "share_of_ceiling",
            "memory_hit_first",
            "memory_hit_again",
            "best_memory_hit",
        )
        cells = [str(row["links"]), str(row["links_after_filter"]), str(row["links_per_page"])]
        cells += [f"{100 * float(str(row[rate])):.1f}" for rate in rates]
        print(f"{row['name']!s:22}" + "".join(f"{cell:>13}" for cell in cells))


def print_baselines(found: list[Site]) -> None:
    print("\nThe paper's other two methods, all URLs in memory:")
    print(f"{'':22}{'hash table %':>13}{'MB':>9}{'Bloom %':>13}{'MB':>9}{'URLs lost':>11}")
    for site in found:
        (rate, size), (bloom_rate, bloom_size, lost) = hash_table(site), bloom(site)
        print(f"{site.name:22}{100 * rate:13.1f}{size:9.3f}{100 * bloom_rate:13.1f}{bloom_size:9.4f}{lost:11}")


def print_sweep(site: Site) -> None:
    print(f"\n{site.name}: memory hits % (all hits stay at the ceiling) over capacity and exchange rate:")
    rates = (0.02, 0.1, 0.3, 0.6)
    print(f"{'capacity / URLs':22}" + "".join(f"{rate:>9}" for rate in rates))
    for share in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        cells = [twice(site, share, rate)[0].memory_rate for rate in rates]
        print(f"{share:<22}" + "".join(f"{100 * cell:9.1f}" for cell in cells))


def print_nodes(found: list[Site]) -> None:
    print("\nNodes that share nothing, the capacity divided among them; hits % (memory hits %):")
    print(f"{'':22}{'1':>16}{'2':>16}{'4':>16}")
    for site in found:
        cells = [several(site, nodes) for nodes in (1, 2, 4)]
        print(f"{site.name:22}" + "".join(f"{100 * one.rate:9.1f} ({100 * one.memory_rate:4.1f})" for one in cells))


if __name__ == "__main__":
    main(sys.argv[1:])
