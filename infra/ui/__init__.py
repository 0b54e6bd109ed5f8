"""A Kafka UI in the browser: kaskade, which draws in a terminal, served by textual-serve from an environment of its own.

kaskade needs other versions of several libraries than gregor does, confluent-kafka among them. It can also change and delete topics:
it listens on loopback, and to pages of its own alone.
"""

from pathlib import Path
from typing import Final

from infra.environment import programs_of

HERE: Final = Path(__file__).parent


def kafka_ui(bootstrap: str, host: str, port: int) -> list[str]:
    """The command that serves it until SIGTERM. The first call installs it, which takes a minute or two."""
    programs = programs_of("kaskade", HERE / "requirements.lock")
    return [str(programs / "python"), str(HERE / "serve.py"), str(programs / "kaskade"), bootstrap, host, str(port)]
