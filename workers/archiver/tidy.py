"""A member's files that it no longer fills: the bytes behind their committed length go away once nobody can commit them any more.

A member that was killed, or lost a partition while its checkpoint was on the way, leaves a file with bytes of which it does not know
whether they count. The topic ``archive`` tells in the end, because its records stand in the order of their commits and each page is in
one file: a record of another file of the same partition

- that begins behind ours says that ours had its last commit before it, so that what was heard of it until now is final;
- that holds our first page says that nothing of ours was ever committed.
"""

import logging
from typing import Final

from msgspec.structs import replace

from schemas.archive import ArchiveFile
from workers.archiver.disk import Disk, short
from workers.archiver.manifest import Manifest
from workers.archiver.names import Named, parse

_log: Final = logging.getLogger("gregor.archiver")


class Tidy:
    """Hears all of ``archive``, cuts and removes files of one member."""

    def __init__(self, disk: Disk, manifest: Manifest, crawl: str, member: str) -> None:
        self._disk = disk
        self._manifest = manifest
        self._crawl = crawl
        self._member = member
        self._heard: dict[int, dict[str, ArchiveFile]] = {}
        """Partition to the last record of each own file in it that may yet have another."""
        self._loose: dict[int, dict[str, Named]] = {}
        """Partition to the own files in it that may have more bytes than are committed."""
        for name in disk.names():
            known = manifest.files.get(name)
            if known is None or not known.closed or disk.size(name) != known.length:
                self.loosen(name)

    def loosen(self, name: str) -> None:
        """Somebody else may have this file's partition from now on."""
        named = self._own(name)
        if named is not None:
            self._loose.setdefault(named.partition, {})[name] = named

    def heard(self, record: ArchiveFile, filling: str | None) -> None:
        """One record of ``archive``; ``filling`` is the own file of that partition that is in use."""
        heard = self._heard.setdefault(record.partition, {})
        loose = self._loose.get(record.partition, {})
        if self._own(record.file) is not None:
            heard[record.file] = record
            known = self._manifest.files.get(record.file)
            if record.file != filling and (known is None or known.length < record.length):
                self._manifest.put([record])
        for name, named in list(loose.items()):
            if name in (record.file, filling):
                continue
            if named.first < record.first:
                self._finish(name, heard.get(name))
                del loose[name]
            elif named.first <= record.last:
                self._finish(name, None)
                del loose[name]
        for name, one in list(heard.items()):
            if one.first < record.first and name not in loose and name != filling:
                del heard[name]

    def _own(self, name: str) -> Named | None:
        named = parse(name)
        return named if named is not None and (named.crawl, named.member) == (self._crawl, self._member) else None

    def _finish(self, name: str, record: ArchiveFile | None) -> None:
        found = self._disk.size(name)
        if found is None:
            # It was moved away by somebody who has it.
            return
        if record is None:
            known = self._manifest.files.get(name)
            if known is None:
                self._disk.remove(name)
            else:
                _log.warning(
                    "%s has %d committed bytes that the topic does not know of: it is left as it is", name, known.length
                )
            return
        if found < record.length:
            raise short(self._disk.folder / name, record.length, found)
        if found > record.length:
            self._disk.cut(name, record.length)
        self._manifest.put([replace(record, closed=True)])
