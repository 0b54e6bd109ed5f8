"""Asks a worker of this machine whether it is healthy: `python -m gregor.runtime.metrics.probe PORT [PATH]` ends with 0 if so, else with 1.

For the health check of a container, which has no other program that could ask.
"""

import sys
from http.client import HTTPConnection, HTTPException
from typing import Final

HOST: Final = "127.0.0.1"
PATIENCE_S: Final = 5.0


def answer(port: int, path: str = "/healthz", patience_s: float = PATIENCE_S) -> tuple[bool, str]:
    """Whether it is, and what it says."""
    connection = HTTPConnection(HOST, port, timeout=patience_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status == 200, response.read(1000).decode(errors="replace").strip()
    except (OSError, HTTPException) as error:
        return False, f"nobody answers at port {port}: {error}"
    finally:
        connection.close()


def main() -> None:
    port, path = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "/healthz"
    healthy, said = answer(port, path)
    print(said)
    sys.exit(0 if healthy else 1)


if __name__ == "__main__":
    main()
