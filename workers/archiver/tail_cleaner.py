"""Files that nobody fills any more: the bytes behind their committed length go away once nobody can commit them.

A member that was killed, or lost a partition while its checkpoint was on the way, leaves a file with bytes of which nobody knows
whether they count. The topic ``archive`` tells in the end, because its records stand in the order of their commits and each page is in
one file: a record of another file of the same partition

- that begins behind this one says that this one had its last commit before it, so that what was heard of it until now is final;
- that holds its first page says that nothing of it was ever committed.

This is true of the files of every member, and who lost its disk comes back as another: each member tidies all of the folder. Several
may do so at once, since all of them come to the same length. A file of a member that has no list in this folder was brought by somebody
else, and is left alone.
"""

import logging
from typing import Final

from msgspec.structs import replace

from schemas.archive import ArchiveFile
from workers.archiver.disk import Disk, short
from workers.archiver.manifest import Manifest, listed_members, read_manifests
from workers.archiver.names import Named, parse

_log: Final = logging.getLogger("gregor.archiver")


class TailCleaner:
    """Hears all of ``archive``, cuts and removes files of a crawl; ``manifest`` is the list of the member that does so."""

    def __init__(self, disk: Disk, manifest: Manifest, crawl: str, member: str) -> None:
        self._disk = disk
        self._manifest = manifest
        self._crawl = crawl
        self._member = member
        self._others = read_manifests(disk.folder)
        """What the lists of all members said when this one began."""
        self._members = listed_members(disk.folder)
        self._heard: dict[int, dict[str, ArchiveFile]] = {}
        """Partition to the last record of each file in it that may yet have another."""
        self._loose: dict[int, dict[str, Named]] = {}
        """Partition to the files in it that may have more bytes than are committed."""
        for name in disk.names():
            known = self._known(name)
            if known is None or not known.closed or disk.size(name) != known.length:
                self.loosen(name)

    def loosen(self, name: str) -> None:
        """Somebody else may have this file's partition from now on."""
        named = self._ours(name)
        if named is not None:
            self._loose.setdefault(named.partition, {})[name] = named

    def heard(self, record: ArchiveFile, filling: str | None) -> None:
        """One record of ``archive``; ``filling`` is the own file of that partition that is in use."""
        heard = self._heard.setdefault(record.partition, {})
        loose = self._loose.get(record.partition, {})
        named = self._ours(record.file)
        if named is not None:
            heard[record.file] = record
            if named.member == self._member and record.file != filling:
                self._list(record)
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

    def _ours(self, name: str) -> Named | None:
        """Of this crawl, by a member that writes or wrote here."""
        named = parse(name)
        return named if named is not None and named.crawl == self._crawl and named.member in self._members else None

    def _known(self, name: str) -> ArchiveFile | None:
        return self._manifest.files.get(name) or self._others.get(name)

    def _list(self, record: ArchiveFile) -> None:
        """Readers shall know of all that is committed, also of what its member did not live to write down."""
        known = self._known(record.file)
        if known is None or known.length < record.length:
            self._manifest.put([record])

    def _finish(self, name: str, record: ArchiveFile | None) -> None:
        found = self._disk.size(name)
        if found is None:
            # It was moved away by somebody who has it.
            return
        if record is None:
            known = self._known(name)
            if known is None:
                self._disk.remove(name)
            else:
                _log.warning(
                    "%s has %d committed bytes that the topic does not know of: it is left as it is", name, known.length
                )
            return
        if found < record.length:
            error = short(self._disk.folder / name, record.length, found)
            if name in self._manifest.files:
                raise error
            # Its own member, or audit, has to say so: it is no reason for others to stop.
            _log.warning("%s", error)
            return
        if found > record.length:
            _log.info("cutting %s from %d bytes to the %d that are committed", name, found, record.length)
            self._disk.cut(name, record.length)
        closed = replace(record, closed=True)
        if name in self._manifest.files:
            self._manifest.put([closed])
        else:
            self._list(closed)
