"""The lines of one part of an index, put into order without holding all of them: a file of small pages has a million."""

import heapq
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from gregor.outputs.archive import cdxj

RUN_BYTES: Final = 16 * 1024 * 1024


class SortedRuns:
    """The lines of a part before it is written: sorted in pieces, which are files beside it while they are needed."""

    def __init__(self, part: Path, run_bytes: int = RUN_BYTES) -> None:
        self._part = part
        self._most = run_bytes
        self._lines: list[bytes] = []
        self._size = 0
        self._files: list[Path] = []

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line)
        if self._size >= self._most:
            # What a crash leaves behind goes away as the parts of files do that are gone.
            self._files.append(self._part.with_name(f"{self._part.name}.{len(self._files)}.new"))
            with self._files[-1].open("wb") as file:
                file.writelines(sorted(self._lines))
            self._lines, self._size = [], 0

    def merged(self) -> Iterator[bytes]:
        return heapq.merge(sorted(self._lines), cdxj.merged(self._files))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            file.unlink(missing_ok=True)
