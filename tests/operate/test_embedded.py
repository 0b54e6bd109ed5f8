"""Operating a crawl in a folder: by the contract, and through the mailbox of whoever holds it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gregor.errors import GregorError, UsageError
from gregor.operate import mailbox
from gregor.operate.commands import PutBack, Trim, encode_command
from gregor.operate.control_state import control_state, server_named
from gregor.operate.crawl_handle import FolderHandle, is_held, log_folder, send_to_folder
from gregor.operate.dead_letters import read_dead_letters
from gregor.runtime.loops.decode import dead_letter
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.port import Output, Transport
from schemas.control import Pause
from tests.operate.contract import OperateContract, broken
from tests.operate.desk import embedded


class TestEmbedded(OperateContract):
    @pytest.fixture
    def transport(self, tmp_path: Path) -> Iterator[Transport]:
        with embedded(tmp_path / "crawl") as transport:
            yield transport


def test_a_folder_that_nobody_holds_is_told_at_once(tmp_path: Path) -> None:
    with embedded(tmp_path / "crawl"):
        pass
    assert send_to_folder(tmp_path / "crawl", Pause(paused=True, server="a.example")) == "a.example is paused"
    access = FolderHandle(tmp_path / "crawl")
    assert list(control_state(access.reader).servers) == ["a.example"]
    access.close()


def test_the_process_that_holds_the_folder_takes_in_what_was_posted(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with embedded(folder) as owner:
        said: list[str] = []
        asking = threading.Thread(target=lambda: said.append(send_to_folder(folder, Pause(paused=True))))
        asking.start()
        while asking.is_alive():
            mailbox.deliver(folder, owner)
        assert said == ["the running crawl was told"]
        assert control_state(owner).crawl == Pause(paused=True)
        assert list((folder / "mailbox").iterdir()) == []
        assert mailbox.deliver(folder, owner) == 0


def test_commands_are_carried_out_in_the_order_in_which_they_were_posted(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with embedded(folder) as owner:
        for number in range(20):
            mailbox.post(folder, Pause(paused=number % 2 == 0, server="a.example", by=str(number)))
        assert mailbox.deliver(folder, owner) == 20
        assert control_state(owner).servers == {}


def test_a_command_that_was_not_taken_in_time_waits_for_the_next_who_opens_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with embedded(folder):
        said = send_to_folder(folder, Pause(paused=True), wait=lambda letter, patience: False)
        assert said.startswith("left in the crawl's mailbox")
    send_to_folder(folder, Pause(paused=True, server="b.example"))
    access = FolderHandle(folder)
    assert control_state(access.reader).crawl == Pause(paused=True)
    access.close()


def test_a_crash_between_carrying_out_and_deleting_does_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with embedded(folder) as owner:
        owner.append([dead_letter(broken(1), "why", "frontier", 3)])
        number = next(read_dead_letters(owner)).number
        letter = mailbox.post(folder, PutBack(numbers=(number,)))
        kept = letter.read_bytes()
        mailbox.deliver(folder, owner)
        letter.write_bytes(kept)
        mailbox.deliver(folder, owner)
        assert len(list(owner.read("discovered", 1, 0))) == 1


@pytest.mark.parametrize(
    "posted",
    [
        b"",
        b"{",
        b'{"type":"explode"}',
        b'{"type":"put-back","numbers":["one"]}',
        encode_command(PutBack(numbers=(999,))),
        encode_command(Trim(before={"nonsense": {"0": 1}})),
        encode_command(Trim(before={"pages": {"zero": 1}})),
    ],
)
def test_what_cannot_be_obeyed_is_put_aside_and_the_rest_goes_on(tmp_path: Path, posted: bytes) -> None:
    folder = tmp_path / "crawl"
    with embedded(folder) as owner:
        bad = mailbox.post(folder, Pause(paused=True))
        bad.write_bytes(posted)
        mailbox.post(folder, Pause(paused=True, server="a.example"))
        assert mailbox.deliver(folder, owner) == 1
        assert list(control_state(owner).servers) == ["a.example"]
        assert [path.suffix for path in (folder / "mailbox").iterdir()] == [".refused"]
        with pytest.raises(GregorError, match="refused the command"):
            mailbox.taken(bad, 0.0)


def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    with embedded(tmp_path / "crawl") as owner:
        (tmp_path / "crawl" / "mailbox").mkdir()
        (tmp_path / "crawl" / "mailbox" / "1.new").write_bytes(b"{")
        assert mailbox.deliver(tmp_path / "crawl", owner) == 0
        assert (tmp_path / "crawl" / "mailbox" / "1.new").exists()


def test_both_the_output_folder_and_the_log_within_it_are_accepted(tmp_path: Path) -> None:
    with embedded(tmp_path / "out" / "state"):
        pass
    assert log_folder(tmp_path / "out") == tmp_path / "out" / "state"
    assert log_folder(tmp_path / "out" / "state") == tmp_path / "out" / "state"


def test_a_folder_without_a_crawl_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"found no crawl in it: .*; name the folder that was given to `gregor crawl`"):
        log_folder(tmp_path)
    with pytest.raises(UsageError, match="found no such folder"):
        log_folder(tmp_path / "nowhere")


def test_whether_somebody_holds_the_folder_is_told_without_taking_the_lock_away(tmp_path: Path) -> None:
    lock = tmp_path / "crawl" / "db" / "LOCK"
    with embedded(tmp_path / "crawl") as owner:
        assert is_held(lock)
        owner.append([Output("verdicts", 0, b"", b"1")])
        assert is_held(lock)
    assert is_held(lock) is False


def test_an_access_shows_the_crawl_as_it_is_when_it_catches_up(tmp_path: Path) -> None:
    with embedded(tmp_path / "crawl") as owner:
        access = FolderHandle(tmp_path / "crawl")
        assert (access.crawl, access.partitions, access.running()) == ("desk", 2, True)
        fill(owner, 3)
        assert access.reader.ends("verdicts")[0] == (0, 0)
        access.catch_up()
        assert access.reader.ends("verdicts")[0] == (0, 3)
        access.close()


def fill(owner: EmbeddedTransport, count: int) -> None:
    owner.append([Output("verdicts", 0, b"", b"%d" % number) for number in range(count)])


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("Example.COM", "example.com"),
        ("example.com:8080", "example.com:8080"),
        ("example.com:443", "example.com"),
        ("https://example.com:443/a?b", "example.com"),
        ("http://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("[::1]:81", "[::1]:81"),
    ],
)
def test_a_server_is_named_by_itself_or_by_one_of_its_urls(text: str, server: str) -> None:
    assert server_named(text) == server


@pytest.mark.parametrize("text", ["", "a b", "example.com/path", "ftp://example.com/", "http://"])
def test_what_is_no_server_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected a server such as example\.com"):
        server_named(text)
