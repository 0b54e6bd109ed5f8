"""A site whose files fill a disk: an entrance and incompressible files behind it."""

from random import Random

import msgspec

from gregor.demo.answer import ROBOTS, Answer

ADDRESS = "127.0.0.1"


class LargeSite(msgspec.Struct, frozen=True):
    """``files`` of ``size`` bytes each."""

    files: int
    size: int
    port: int = 0

    def at(self, port: int) -> "LargeSite":
        return msgspec.structs.replace(self, port=port)

    @property
    def seeds(self) -> list[str]:
        return [self.url(0, "/")]

    def addresses(self) -> list[str]:
        return [ADDRESS]

    def url(self, host: int, path: str) -> str:
        return f"http://{ADDRESS}:{self.port}{path}"

    def pages(self) -> set[str]:
        return self.urls()

    def urls(self) -> set[str]:
        return {self.url(0, "/"), *(self.url(0, f"/{number}.bin") for number in range(self.files))}

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        if path == "/":
            return Answer(200, "".join(f'<a href="{number}.bin">{number}</a>' for number in range(self.files)))
        if path == ROBOTS:
            return Answer(404, "")
        return Answer(200, "", "application/octet-stream", raw=Random(path).randbytes(self.size))
