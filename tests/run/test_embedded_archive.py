"""A crawl in one process and its archive: what the site answered is in it once, whatever happened to the crawl in between."""

from collections import Counter
from pathlib import Path

from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.errors import EXIT_STATE
from gregor.outputs.archive.reader import open_archive
from tests.chaos.processes import gregor, seeded
from tests.run.configured import write_config
from workers.archiver.manifest import Manifest


def archived(folder: Path) -> Counter[tuple[str, str]]:
    return Counter((page.url, page.facts.lease) for page in open_archive(folder))


def test_killed_at_random_moments_a_crawl_archives_each_response_once(tmp_path: Path) -> None:
    moments = seeded("embedded archive")
    folder = tmp_path / "crawl"
    with serve(DemoSite(), latency_s=0.03) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        for _ in range(3):
            with gregor(config, "crawl", "--output", folder) as running:
                running.wait_briefly(moments.uniform(0.7, 1.5))
        with gregor(config, "crawl", "--output", folder) as running:
            code, printed = running.wait()
        assert code == 0, printed
        found = archived(folder / "archive")
        assert set(found.values()) == {1}, "no response twice"
        assert {url for url, _ in found} == server.site.urls(), "and none lost"
        pages = {page.url: page.body for page in open_archive(folder / "archive") if page.status == 200}
        assert pages.keys() == server.site.pages()


def test_two_crawls_at_once_do_not_archive_into_one_folder(tmp_path: Path) -> None:
    with serve(DemoSite(hosts=1, pages_per_host=3)) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        shared = tmp_path / "shared"
        config.write_text(f'{config.read_text()}[archive]\nfolder = "{shared}"\n')
        shared.mkdir()
        first = Manifest(shared, "archiver-0")
        with gregor(config, "crawl", "--output", tmp_path / "second") as running:
            code, printed = running.wait()
        assert code == EXIT_STATE
        assert (
            "files-archiver-0.jsonl is written by another process; stop that process, or set archive.folder" in printed
        )
        assert "Traceback" not in printed
        first.close()
        with gregor(config, "crawl", "--output", tmp_path / "second") as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert archived(shared)


def test_an_archive_can_be_elsewhere_or_not_at_all(tmp_path: Path) -> None:
    with serve(DemoSite(hosts=1, pages_per_host=3)) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        text = config.read_text()
        config.write_text(f'{text}[archive]\nfolder = "{tmp_path / "elsewhere"}"\n')
        with gregor(config, "crawl", "--output", tmp_path / "with") as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert archived(tmp_path / "elsewhere")
        assert not (tmp_path / "with" / "archive").exists()
        config.write_text(f"{text}[archive]\nenabled = false\n")
        with gregor(config, "crawl", "--output", tmp_path / "without") as running:
            code, printed = running.wait()
        assert code == 0, printed
        assert not (tmp_path / "without" / "archive").exists()
