"""A member's files that it no longer fills: the bytes behind their committed length go away once nobody can commit them any more.

A member that was killed, or lost a partition while its checkpoint was on the way, leaves a file with bytes of which it does not know
whether they count. The topic ``archive`` tells in the end, because its records stand in the order of their commits and each page is in
one file: a record of another file of the same partition

- that begins behind ours says that ours had its last commit before it, so that what was heard of it until now is final;
- that holds our first page says that nothing of ours was ever committed.
"""

from msgspec.structs import replace

from schemas.archive import ArchiveFile
from workers.archiver.disk import Disk, short
from workers.archiver.manifest import Manifest
from workers.archiver.names import Named, parse


class Tidy:
    """Hears all of ``archive``, cuts and removes files of one member."""

    def __init__(self, disk: Disk, manifest: Manifest, crawl: str, member: str) -> None:
        self._disk = disk
        self._manifest = manifest
        self._crawl = crawl
        self._member = member
        self._heard: dict[str, ArchiveFile] = {}
        self._loose: dict[int, dict[str, Named]] = {}
        """Partition to the own files in it that may have more bytes than are committed."""
        for name in disk.names():
            known = manifest.files.get(name)
            if known is None or not known.closed or disk.size(name) != known.length:
                self.loosen(name)

    def loosen(self, name: str) -> None:
        """Somebody else may have this file's partition from now on."""
        named = parse(name)
        if named is not None and (named.crawl, named.member) == (self._crawl, self._member):
            self._loose.setdefault(named.partition, {})[name] = named

    def heard(self, record: ArchiveFile, filling: str | None) -> None:
        """One record of ``archive``; ``filling`` is the own file of that partition that is in use."""
        files = self._loose.get(record.partition)
        if not files:
            return
        if record.file in files and record.file != filling:
            self._heard[record.file] = record
            known = self._manifest.files.get(record.file)
            if known is None or known.length < record.length:
                self._manifest.put([record])
        for name, named in list(files.items()):
            if name in (record.file, filling):
                continue
            if named.first < record.first:
                self._finish(name)
                del files[name]
            elif named.first <= record.last:
                self._disk.remove(name)
                del files[name]

    def _finish(self, name: str) -> None:
        record = self._heard.pop(name, None)
        if record is None:
            self._disk.remove(name)
            return
        found = self._disk.size(name)
        if found is None:
            # It was moved away by somebody who has it.
            return
        if found < record.length:
            raise short(self._disk.folder / name, record.length, found)
        if found > record.length:
            self._disk.cut(name, record.length)
        self._manifest.put([replace(record, closed=True)])
