"""Memory and disk of one `gregor crawl` as it grows: tiny pages, made up as they are asked for, on eight hosts without a delay.

Run: python -m bench.memory [--quick] [--json]

A million pages, or 20,000 with --quick. Resident memory is that of all processes, added up: in the middle of the crawl (the most between 40
and 60% of the pages), at its end (80 to 100%), and at any moment, the report and the index of the archive included. A crawl that does not
ask for each page exactly once has no figures.
"""

import tempfile
from pathlib import Path
from typing import Any, Final

from bench.crawling.resident import Course, crawl
from bench.report import finish, machine, options

PAGES: Final = 1_000_000
QUICK_PAGES: Final = 20_000
_STEPS: Final = 10


def main() -> None:
    chosen = options(__doc__)
    pages = QUICK_PAGES if chosen.quick else PAGES
    print(machine("aiohttp", "rocksdict", "msgspec"))
    with tempfile.TemporaryDirectory(prefix="gregor-bench-") as folder:
        course = crawl(Path(folder), pages)
    if (course.told.get("type"), course.requests, course.asked) != ("summary", pages, pages):
        raise SystemExit(
            f"{course.requests} requests for {course.asked} of {pages} pages, ended with {course.told.get('type')}"
        )
    _table(course)
    finish(figures(course), chosen.json)


def figures(course: Course) -> dict[str, Any]:
    return {
        "pages": course.pages,
        "pages_per_s": course.told["pages_per_s"],
        "middle_mb": round(course.most(0.4, 0.6)),
        "end_mb": round(course.most(0.8, 1.0)),
        "peak_mb": round(course.peak),
        "peak_main_mb": round(max(one.main_mb for one in course.samples)),
        "peak_extractor_mb": round(max(one.extractor_mb for one in course.samples)),
        "state_bytes_per_url": round(course.disk["state"] / course.pages),
        "archive_bytes_per_url": round(course.disk["archive"] / course.pages),
    }


def _table(course: Course) -> None:
    """The most of each tenth of the crawl; what comes after the last page belongs to the last row."""
    print(f"\n{'pages':>10}{'main, MB':>12}{'extractor':>12}{'together':>12}")
    for step in range(_STEPS + 1):
        low, high = course.pages * step / _STEPS, course.pages * (step + 1) / _STEPS
        some = [one for one in course.samples if low <= one.fetched < high]
        if some:
            main, extractor = max(one.main_mb for one in some), max(one.extractor_mb for one in some)
            together = max(one.resident_mb for one in some)
            print(f"{round(low):>10,}{main:>12,.0f}{extractor:>12,.0f}{together:>12,.0f}")
    print()


if __name__ == "__main__":
    main()
