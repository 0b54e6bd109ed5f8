"""Reading archives: pages of a folder without knowing WARC, its indexes, items, and making an archive again from the log."""

from gregor.archive.page import Page, Place
from gregor.archive.reader import Archive, open_archive

__all__ = ["Archive", "Page", "Place", "open_archive"]
