"""Pages as headless Chromium sees them."""

import os
import subprocess
from pathlib import Path

from msgspec import Struct

REPOSITORY = Path(__file__).resolve().parents[3]


class Seen(Struct, frozen=True):
    """A page after its scripts ran."""

    dom: str
    complaints: list[str]
    """What the browser said in its console: script errors, and what the page's policy refused."""


def open_page(path: Path, profile: Path) -> Seen:
    """Without a network: no name is found, and no address can be reached but by a file."""
    needed = subprocess.run([REPOSITORY / "infra" / "need.sh", "chromium"], capture_output=True, text=True, check=False)
    assert needed.returncode == 0, needed.stderr
    ended = subprocess.run(
        [
            "chromium",
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--proxy-server=127.0.0.1:1",
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return Seen(ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line])
