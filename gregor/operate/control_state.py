"""Which parts of a crawl are held back: folded from ``control``, where the latest word for each key counts."""

from msgspec import Struct

from gregor.errors import UsageError
from gregor.runtime.transport.port import LogReader
from gregor.url.canonical import UrlRefusal, split
from schemas.codec import Undecodable
from schemas.control import ConfigVersion, Control, Limits, Pause, SeedScope, decode_control


class ControlState(Struct, frozen=True):
    """What ``control`` says now."""

    crawl: Pause | None
    """The pause of the whole crawl; None: it is not paused."""
    servers: dict[str, Pause]
    """Paused servers."""
    limits: Limits | None
    widened: dict[str, SeedScope]
    """Servers that seeds were redirected to, which belong to the scope."""
    config: ConfigVersion | None


def control_state(reader: LogReader) -> ControlState:
    crawl: Pause | None = None
    servers: dict[str, Pause] = {}
    limits: Limits | None = None
    config: ConfigVersion | None = None
    widened: dict[str, SeedScope] = {}
    first, end = reader.ends("control")[0]
    for record in reader.read("control", 0, first, end):
        match _decoded(record.value):
            case Pause(server="") as pause:
                crawl = pause if pause.paused else None
            case Pause() as pause:
                servers.pop(pause.server, None)
                if pause.paused:
                    servers[pause.server] = pause
            case Limits() as found:
                limits = found
            case SeedScope() as scope:
                widened[scope.server] = scope
            case ConfigVersion() as version:
                config = version
    return ControlState(crawl, servers, limits, widened, config)


def server_named(text: str) -> str:
    """A server as it is known to the crawl, from its name or one of its URLs; UsageError when it cannot be one."""
    url = split(text if "://" in text else f"https://{text.removesuffix(':80').removesuffix(':443')}/")
    if isinstance(url, UrlRefusal) or ("://" not in text and url.path != "/"):
        raise UsageError(f"expected a server such as example.com or example.com:8080, found {text!r}")
    return url.server


def _decoded(value: bytes | None) -> Control | None:
    try:
        return decode_control(value)
    except Undecodable:
        return None
