"""An archive's folder, open for reading: needs the folder alone, no broker and no index.

    from gregor.outputs.archive import open_archive

    for page in open_archive("archive"):
        print(page.url, page.status, len(page.body))

Bytes behind the committed lengths do not exist: not while an archiver writes, and not after one was killed.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from gregor.errors import UsageError
from gregor.outputs.archive.members import WarcMember, members
from gregor.outputs.archive.page import (
    ArchivedPage,
    RecordPlace,
    WarcRecord,
    has_facts,
    page_of,
    split_record,
    with_request,
)
from schemas.archive import ArchiveFile
from workers.archiver.manifest import read_manifests


class ArchiveReader:
    """What was committed when it was opened."""

    def __init__(self, folder: Path, files: Mapping[str, ArchiveFile]) -> None:
        self.folder = folder
        self.files = files
        """By name; in order of partition and first page."""

    def __iter__(self) -> Iterator[ArchivedPage]:
        for file in self.files.values():
            yield from self.pages_of(file)

    def pages_of(self, file: ArchiveFile) -> Iterator[ArchivedPage]:
        """The pages of one file, as they came."""
        path = self.folder / file.file
        page: ArchivedPage | None = None
        found = members(path, file.length)
        for member in found:
            record = split_record(member.data, f"{path} at {member.offset}")
            if page is not None:
                if record.kind == "request":
                    yield with_request(page, record)
                    page = None
                    continue
                yield page
                page = None
            if record.kind in ("response", "revisit"):
                page = self._page(path, member, record, found)
        if page is not None:
            yield page

    def page_at(self, place: RecordPlace) -> ArchivedPage:
        """One page by its place, as indexes give it; without its request headers, which are a record of their own."""
        path = self.folder / place.file
        found = members(path, self.files[place.file].length, place.offset)
        member = next(found)
        return self._page(path, member, split_record(member.data, f"{path} at {place.offset}"), found)

    @staticmethod
    def _page(path: Path, member: WarcMember, record: WarcRecord, following: Iterator[WarcMember]) -> ArchivedPage:
        aside = None
        if not has_facts(record) and (behind := next(following, None)) is not None:
            aside = split_record(behind.data, f"{path} at {behind.offset}")
        return page_of(record, aside, path, member)

    def whole_pages(self) -> Iterator[ArchivedPage]:
        """All pages, revisits with the body of the page that they repeat where the archive has it. Remembers a place for each URL."""
        bodies: dict[str, tuple[str, RecordPlace]] = {}
        for page in self:
            facts = page.facts
            if not page.revisit:
                if facts.digest:
                    bodies[page.url] = (facts.digest, page.place)
                yield page
                continue
            digest, place = bodies.get(page.url, ("", page.place))
            if digest and digest == facts.previous_digest:
                yield replace(page, body=self.page_at(place).body)
            else:
                yield page


def open_archive(folder: str | Path) -> ArchiveReader:
    """The archive's folder, or that of a crawl, with ``archive`` in it. Raises UsageError when nothing of an archiver is there."""
    path = Path(folder)
    found = read_manifests(path)
    if not found and (path / "archive").is_dir():
        path = path / "archive"
        found = read_manifests(path)
    if not found:
        raise UsageError(
            f"expected an archive in {path}, found no files-*.jsonl there",
            remedy="name the folder that the archiver wrote; a copy needs these files as well as the *.warc.gz",
        )
    ordered = sorted(found.values(), key=lambda one: (one.partition, one.first, one.file))
    return ArchiveReader(path, {one.file: one for one in ordered if one.length})
