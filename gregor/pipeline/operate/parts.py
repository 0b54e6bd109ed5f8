"""Which stages a crawl has, as its log tells: every one but the archiver, which may be off, or may never have been there."""

from gregor.pipeline.operate.pauses import held
from gregor.pipeline.operate.remembered import recall
from gregor.pipeline.stages import ROLES
from gregor.transport.port import LogReader, StageSpec


def stages_of(reader: LogReader) -> list[StageSpec]:
    """Those that the crawl waits for. An archiver only if the crawl's own configuration wants one, and one ever took part."""
    return [role.spec for name, role in ROLES.items() if name != "archiver" or _archives(reader, role.spec)]


def _archives(reader: LogReader, archiver: StageSpec) -> bool:
    config = recall(held(reader))
    return (config is None or config.archive.enabled) and bool(reader.committed(archiver.name, archiver.inputs))
