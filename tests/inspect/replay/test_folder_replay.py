"""`gregor replay` of crawls in a folder: one that was killed, another configuration, trimmed topics, and mistakes."""

import shutil
from pathlib import Path

import msgspec
import pytest
from rocksdict import Rdict

from gregor.config import Config, load
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.errors import EXIT_CHECK_FAILED, EXIT_USAGE
from gregor.run.embedded import EmbeddedCrawl
from gregor.run.placement import placement_of
from gregor.run.topology import ROLES
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import META, Store
from gregor.runtime.transport.embedded.layout import checkpoint_key
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.port import Output, TopicPartition
from schemas.changelog import Checkpoint
from schemas.codec import encode
from schemas.discovered import Discovered
from tests.chaos.processes import gregor, seeded
from tests.inspect.replay.replays import Replays, urls
from tests.run.configured import write_config


def opened(folder: Path) -> EmbeddedTransport:
    settings = EmbeddedSettings(crawl="demo", partitions=4)
    specs = [role.spec for role in ROLES.values()]
    return EmbeddedTransport.at(folder / "crawl" / "state", settings, SharedMemory(StoreOptions()), specs)


@pytest.mark.parametrize("placement", ["hash", "sites"])
def test_a_crawl_that_was_killed_several_times_is_replayed_and_is_the_same(
    placement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = seeded("replayed crawl")
    replays = Replays(tmp_path, capsys, behind=("--folder", str(tmp_path / "crawl")))
    with serve(DemoSite(), latency_s=0.03) as server:
        config = write_config(tmp_path / "gregor.toml", server, placement=placement)
        for _ in range(3):
            with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
                running.wait_briefly(moments.uniform(0.5, 2.0))
            if (tmp_path / "crawl" / "state" / "folder.json").exists():
                assert replays()["verdict"] in ("same", "nothing to compare with"), "after a kill"
        with gregor(config, "crawl", "--output", tmp_path / "crawl") as running:
            code, printed = running.wait()
        assert code == 0, printed
        whole = replays()
        assert (whole["verdict"], whole["notes"]) == ("same", [])
        assert whole["now"]["confirmed"] == len(server.site.urls())


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Config, set[str]]:
    folder = tmp_path_factory.mktemp("replayed")
    with serve(DemoSite(hosts=2, pages_per_host=15)) as server:
        config = load(write_config(folder / "gregor.toml", server), {}).config
        job = EmbeddedCrawl(config, folder / "crawl")
        job.run()
        job.close()
        return folder, config, set(server.site.urls())


def test_a_stricter_configuration_differs_in_exactly_the_urls_that_it_refuses(
    original: tuple[Path, Config, set[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, config, known = original
    replays = Replays(tmp_path, capsys, behind=("--folder", str(folder / "crawl")))
    rules = tmp_path / "other.toml"
    rules.write_text('[scope]\nexclude = ["/crickets/"]\n[robots]\nobey = false\n[traps]\nmax_path_length = 25\n')
    found = replays("--config", str(rules), "--show", "1000")
    crickets = {url for url in known if "/crickets/" in url}
    assert urls(found, "fetched", "unknown") == crickets
    long = {url for url in known - crickets if len(url.partition("//")[2].partition("/")[2]) + 1 > 25}
    assert urls(found, "fetched", "refused") == long
    assert found["then"]["admitted"] - found["now"]["admitted"] == len(crickets) + len(long)
    assert found["now"]["refused_too-long"] == len(long) > 0
    said, _ = replays.run("replay", str(tmp_path / "text"), "--set", "crawl.max_depth=1", "--show", "2")
    assert "URLs were fetched then and are unknown now" in said
    assert "differs, under another configuration" in said
    assert config.config_version != found["config_version"]


def test_a_url_that_the_crawl_does_not_know_is_a_difference_with_exit_code_1(
    original: tuple[Path, Config, set[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record that the crawl passed without taking it in, which no crawl does: its position is moved behind it."""
    folder, config, known = original
    replays = Replays(tmp_path, capsys, behind=("--folder", str(tmp_path / "crawl")))
    copied(folder, tmp_path)
    server = sorted(known)[0].split("/")[2]
    transport = opened(tmp_path)
    partition = placement_of(config).partition(server)
    found = Discovered(server=server, paths=("/nobody/found/this",), scheme="http", kind="seed")
    transport.append([Output("discovered", partition, server.encode(), encode(found))])
    transport.close()
    move_position(tmp_path, partition)
    said = replays(code=EXIT_CHECK_FAILED)
    assert said["verdict"] == "differs"
    assert urls(said, "unknown", "waiting") == {f"http://{server}/nobody/found/this"}


def copied(folder: Path, target: Path) -> None:
    shutil.copytree(folder / "crawl", target / "crawl")


def move_position(folder: Path, partition: int) -> None:
    path = folder / "crawl" / "state" / "db"
    families = [name for name in Rdict.list_cf(str(path)) if name not in ("default", META)]
    store = Store(path, families, SharedMemory(StoreOptions()))
    key = checkpoint_key("frontier", partition)
    found = msgspec.json.decode(store.view().get(META, key) or b"", type=Checkpoint)
    positions = {**found.positions, "discovered": found.positions["discovered"] + 1}
    batch = store.begin()
    store.writer(batch).put(META, key, encode(msgspec.structs.replace(found, positions=positions)))
    store.write(batch)
    store.close()


def test_what_was_trimmed_is_named_and_what_cannot_be_judged_is_not_judged(
    original: tuple[Path, Config, set[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, _ = original
    copied(folder, tmp_path)
    transport = opened(tmp_path)
    partition, (_, end) = max(transport.ends("fetched").items(), key=lambda one: one[1][1])
    transport.trim({TopicPartition("fetched", partition): end})
    transport.close()
    replays = Replays(tmp_path, capsys, behind=("--folder", str(tmp_path / "crawl")))
    found = replays()
    assert found["verdict"] == "partial"
    assert any(f"fetched[{partition}] begins at offset" in note for note in found["notes"])
    assert {(one["then"], one["now"], one["judged"]) for one in found["differences"]} == {("fetched", "waiting", False)}
    assert found["then"]["admitted"] == found["now"]["admitted"], "what was admitted does not depend on results"


def test_mistakes_are_told_in_one_line(
    original: tuple[Path, Config, set[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, _ = original
    replays = Replays(tmp_path, capsys, behind=("--folder", str(folder / "crawl")))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("mine")
    for args, told in (
        ((str(tmp_path / "full"),), "expected a new or empty folder"),
        ((str(tmp_path / "full" / "a"),), "expected a new folder, found a file"),
        ((str(tmp_path / "new"), "--since", "yesterday"), "expected a time such as"),
        ((str(tmp_path / "new"), "--to", "fetched:99:1"), "expected a partition of 0 to 3"),
        ((str(tmp_path / "new"), "--to", "pages:0:1"), "expected TOPIC:PARTITION:OFFSET"),
        ((str(tmp_path / "new"), "--partition", "4"), "expected a partition of 0 to 3, found 4"),
        ((str(tmp_path / "new"), "--set", "crawl.max_dept=1"), "crawl.max_depth"),
        ((str(tmp_path / "new"), "--set", "crawl"), "expected KEY=VALUE"),
        ((str(tmp_path / "new"), "--config", str(tmp_path / "no.toml")), "expected a configuration file"),
    ):
        _, err = replays.run("replay", *args, code=EXIT_USAGE)
        line = err.splitlines()[-1]
        assert told in line, err
    assert not (tmp_path / "new").exists()
    elsewhere = Replays(tmp_path, capsys, behind=("--folder", str(tmp_path)))
    _, err = elsewhere.run("replay", str(tmp_path / "new"), code=EXIT_USAGE)
    assert "expected the folder of a crawl" in err
