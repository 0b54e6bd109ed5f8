"""Asks a worker of this machine whether it is healthy: `python -m gregor.metrics.probe PORT [PATH]` ends with 0 if it is, else with 1.

For the health check of a container, which has no other program that could ask.
"""

import sys
from http.client import HTTPConnection, HTTPException
from typing import Final

HOST: Final = "127.0.0.1"
PATIENCE_S: Final = 5.0


def answer(port: int, path: str = "/healthz") -> tuple[bool, str]:
    """Whether it is, and what it says."""
    connection = HTTPConnection(HOST, port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status == 200, response.read(1000).decode(errors="replace").strip()
    except (OSError, HTTPException) as error:
        return False, f"nobody answers at port {port}: {error}"
    finally:
        connection.close()


def main() -> None:
    healthy, said = answer(int(sys.argv[1]), *sys.argv[2:3])
    print(said)
    sys.exit(0 if healthy else 1)


if __name__ == "__main__":
    main()
