"""Which stages a crawl has, as its log tells: every one but those that may be off, or may never have been there."""

from gregor.operate.config_history import recall_config
from gregor.operate.control_state import control_state
from gregor.run.topology import ROLES
from gregor.runtime.role import Role
from gregor.runtime.transport.port import LogReader, StageSpec


def stages_of(reader: LogReader) -> list[StageSpec]:
    """Those that the crawl waits for. An optional one only if the crawl's own configuration wants it, and one ever took part or the crawl
    cannot do without."""
    return [role.spec for role in ROLES.values() if not role.optional or _takes_part(reader, role)]


def _takes_part(reader: LogReader, role: Role) -> bool:
    config = recall_config(control_state(reader))
    if role.needed and config is not None:
        return role.enabled(config)
    return (config is None or role.enabled(config)) and bool(reader.committed(role.name, role.spec.inputs))
