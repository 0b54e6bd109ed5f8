"""README.md as its readers use it: blocks of code in order, with the example's host in the place of one on loopback."""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gregor.demo.server import DemoServer

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

_PART = re.compile(r"^## (?P<heading>[^\n]+)$|^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(Struct, frozen=True):
    """One block of code; what has no language is a picture or an output."""

    heading: str
    language: str
    code: str

    def commands(self) -> Iterator[str]:
        """Each line of a shell block without its comment."""
        for line in self.code.splitlines():
            if command := re.sub(r"\s+#.*$", "", line).strip():
                yield command


def blocks() -> list[Block]:
    found: list[Block] = []
    heading = ""
    for part in _PART.finditer(README.read_text(encoding="utf-8")):
        heading = part["heading"] or heading
        if part["language"]:
            found.append(Block(heading, part["language"], part["code"]))
    return found


def on_loopback(code: str, server: DemoServer) -> str:
    """The one substitution: docs.example.com is a site of ours, which has no certificate."""
    host = f"127.0.0.1:{server.port}"
    return code.replace("https://docs.example.com", f"http://{host}").replace("docs.example.com", host)
