"""A crawl of the bundled site in one process, on the embedded transport; the site's own log is the judge."""

import os
import signal
from pathlib import Path

from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.run.progress import look
from gregor.run.topology import ROLES
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from tests.chaos.processes import gregor, seeded
from tests.run.configured import write_config


def counters(folder: Path) -> dict[str, int]:
    """The frontier's totals, read from the folder of a crawl that is over."""
    specs = [role.spec for role in ROLES.values()]
    settings = EmbeddedSettings(crawl="demo", partitions=4)
    transport = EmbeddedTransport.at(folder / "state", settings, SharedMemory(StoreOptions()), specs)
    try:
        return dict(look(transport, specs, 4).counters)
    finally:
        transport.close()


def test_the_bundled_site_is_fetched_whole_and_each_url_exactly_once(tmp_path: Path) -> None:
    with serve(DemoSite()) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert set(server.requested()) == server.site.urls()
        assert set(server.requested().values()) == {1}
        assert counters(tmp_path / "crawl")["servers"] == len(server.seeds)


def test_a_crawl_ends_though_one_unread_page_stops_the_fetcher_and_it_is_killed(tmp_path: Path) -> None:
    moments = seeded("unread pages")
    with serve(DemoSite()) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        config.write_text(config.read_text() + "\n[state]\nunread_pages = 1\n")
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            running.wait_briefly(moments.uniform(0.5, 1.5))
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert set(server.requested()) == server.site.urls()


def test_a_second_run_in_the_same_folder_fetches_nothing(tmp_path: Path) -> None:
    with serve(DemoSite()) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        for _ in range(2):
            with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
                code, printed = running.wait()
            assert code == 0, printed
        assert set(server.requested().values()) == {1}


def test_killed_at_random_moments_it_goes_on_and_admits_no_url_twice(tmp_path: Path) -> None:
    moments = seeded("embedded crawl")
    folder = tmp_path / "crawl"
    with serve(DemoSite(), latency_s=0.03) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        kills = 0
        for _ in range(4):
            with gregor(config, "crawl", "--output", folder) as running:
                kills += not running.wait_briefly(moments.uniform(0.5, 1.5))
        with gregor(config, "crawl", "--output", folder) as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert kills >= 1, "the crawl ended before it could be killed"
        assert set(server.requested()) == server.site.urls()
        totals = counters(folder)
        assert totals["admitted"] == totals["confirmed"] == len(server.site.urls())
        assert totals["queued"] == totals["leased"] == 0


def test_a_folder_that_is_in_use_is_refused_in_one_line(tmp_path: Path) -> None:
    with serve(DemoSite(), latency_s=0.5) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as first:
            while not server.log and first.ended is None:
                first.wait_briefly(0.05)
            with gregor(config, "crawl", "--output", tmp_path / "crawl") as second:
                code, printed = second.wait()
            assert first.ended is None
    assert code == 4
    assert printed.count("\n") == 1
    assert "held by another process" in printed


def test_sigterm_stops_after_the_checkpoint_and_the_next_run_goes_on(tmp_path: Path) -> None:
    with serve(DemoSite(), latency_s=0.1) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            while len(server.log) < 8 and running.ended is None:
                running.wait_briefly(0.05)
            code, printed = running.terminate()
        assert code == 130, printed
        assert "goes on where it stopped" in printed
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert set(server.requested()) == server.site.urls()


def test_a_reading_process_that_is_killed_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    with serve(DemoSite(pages_per_host=60), latency_s=0.02) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            for wanted in (20, 120):
                while len(server.log) < wanted and running.ended is None:
                    running.wait_briefly(0.02)
                for child in children(running.pid):
                    os.kill(child, signal.SIGKILL)
            code, printed = running.wait()
        assert code == 0, printed
        assert printed.count("its work goes on in a new one") >= 1, printed
        assert set(server.requested()) == server.site.urls()
        assert set(server.requested().values()) == {1}


def children(pid: int) -> list[int]:
    """Processes whose parent it is."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]
