"""What replays an archive as a visitor sees it: pywb in an environment of its own, and a browser. Both are set up when first asked for.

pywb needs older versions of several libraries than gregor does, so that the two do not live in one environment.
"""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from infra.environment import programs_of, run

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
_PATIENCE_S: Final = 120.0


def pywb() -> Path:
    """The folder of pywb's programs."""
    return programs_of("pywb", HERE / "requirements.lock")


def chromium() -> str:
    """The browser's program."""
    run(ROOT / "infra" / "need.sh", "chromium")
    return "chromium"


def configuration(archives: Mapping[str, Path]) -> str:
    """A collection for each archive, shown without a frame around it."""
    lines = ["framed_replay: false", "collections:"]
    for name, archive in archives.items():
        lines += [
            f"  {name}:",
            f"    index_paths: {archive / 'index' / 'pages.cdxj'}",
            f"    archive_paths: {archive}/",
        ]
    return "\n".join(lines) + "\n"


@contextmanager
def replaying(folder: Path, config: str) -> Iterator[str]:
    """The address of a pywb that runs in ``folder`` with this configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(config)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(pywb() / "wayback"), "-b", "127.0.0.1", "-p", str(port), "-d", str(folder)]
    with (folder / "pywb.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address, server, folder / "pywb.log")
        yield address
    finally:
        server.terminate()
        server.wait()


def seen_in_browser(url: str, home: Path) -> str:
    """The document as the browser has it when the page has loaded."""
    command = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"]
    done = subprocess.run(
        [*command, f"--user-data-dir={home}", "--dump-dom", url], capture_output=True, text=True, check=False
    )
    return done.stdout


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            if server.poll() is not None or time.monotonic() > give_up:
                raise GregorError(
                    f"pywb did not start: {log.read_text()[-2000:]}", exit_code=EXIT_ENVIRONMENT
                ) from None
            time.sleep(0.1)
