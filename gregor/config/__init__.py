"""The configuration: one TOML file, environment variables and flags, checked strictly, as frozen Structs. It knows no stage."""

from gregor.config.load import Config, Flag, Loaded, load
from gregor.config.names import Names
from gregor.config.secrets import resolve
from gregor.config.sections import ServerRule
from gregor.config.servers import ServerSettings

__all__ = ["Config", "Flag", "Loaded", "Names", "ServerRule", "ServerSettings", "load", "resolve"]
