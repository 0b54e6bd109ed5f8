"""Figure 2 of paper 004 as two servers: e and i are linked from the other site alone.

S1   a ─► b, c     c ─► d     b ─► i (of S2)     e
S2   f ─► g, h     g ─► j     h ─► e (of S1)     i
"""

from collections.abc import Set
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gregor.demo.answer import Answer, loopback

FIRST: Final = frozenset("abcde")
LINKS: Final = {"a": "bc", "b": "i", "c": "d", "f": "gh", "g": "j", "h": "e"}
ROOTS: Final = ("a", "f")


class FigureTwo(Struct, frozen=True):
    """A HostedSite."""

    port: int = 0

    @property
    def seeds(self) -> list[str]:
        return [self.page(name) for name in ROOTS]

    def at(self, port: int) -> "FigureTwo":
        return replace(self, port=port)

    def addresses(self) -> list[str]:
        return [loopback(host) for host in range(2)]

    def url(self, host: int, path: str) -> str:
        return f"http://{loopback(host)}:{self.port}{path}"

    def page(self, name: str) -> str:
        return self.url(0 if name in FIRST else 1, "/" if name in ROOTS else f"/{name}")

    def pages(self) -> Set[str]:
        return {self.page(name) for name in "abcdefghij"}

    def urls(self) -> Set[str]:
        return self.pages()

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        name = path[1:] or ROOTS[self.addresses().index(address)]
        if f"http://{address}:{self.port}{path}" not in self.pages():
            return Answer(404, "")
        links = "".join(f'<a href="{self.page(other)}">{other}</a>' for other in LINKS.get(name, ""))
        return Answer(200, f"<html><title>{name}</title>{links}")
