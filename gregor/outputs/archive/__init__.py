"""Reading archives: pages of a folder without knowing WARC, indexes, items, an archive made again. The archiver is in workers/."""

from gregor.outputs.archive.page import ArchivedPage, RecordPlace
from gregor.outputs.archive.reader import ArchiveReader, open_archive

__all__ = ["ArchiveReader", "ArchivedPage", "RecordPlace", "open_archive"]
