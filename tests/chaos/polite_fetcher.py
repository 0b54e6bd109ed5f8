"""A fetcher on the embedded transport as a process: loaded and waiting for the word, so that the next one begins where the last was killed.

Run as a program: the folder as argument. Prints "loaded", waits for a line, fetches until all orders have their results, prints "done".
"""

import subprocess
import sys
from pathlib import Path

from gregor.config import load
from gregor.runtime.loops.orders import OrderLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from tests.chaos.processes import REPOSITORY
from tests.workers.fetcher.fetching import PLACEMENT, settings
from workers.fetcher.stage import SPEC, FetcherStage

PARTITIONS = 8


class PoliteFetcher:
    """The process, for a test."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.chaos.polite_fetcher", str(folder)]
        self._process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._says("loaded")

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("begin\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.communicate()

    def wait(self) -> None:
        """Until it is done."""
        self._says("done")
        self._process.communicate()

    def _says(self, word: str) -> None:
        assert self._process.stdout is not None
        found = self._process.stdout.readline()
        assert found == f"{word}\n", found


def opened(folder: Path) -> EmbeddedTransport:
    options = StoreOptions.of(load(None, {}).config.state)
    return EmbeddedTransport.at(
        folder, EmbeddedSettings(crawl="polite", partitions=PARTITIONS), SharedMemory(options), [SPEC]
    )


def count(transport: EmbeddedTransport, topic: str) -> int:
    return sum(end for _, end in transport.ends(topic).values())


def main(folder: Path) -> None:
    config = settings()
    print("loaded", flush=True)
    sys.stdin.readline()
    transport = opened(folder)
    stage = FetcherStage(config, PLACEMENT, "polite")
    loop = OrderLoop(stage, transport.open(SPEC), config.checkpoint)
    orders = count(transport, "schedule")
    while count(transport, "fetched") < orders:
        loop.step(0.02)
    stage.close()
    transport.close()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
