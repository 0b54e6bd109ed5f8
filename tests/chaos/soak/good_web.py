"""The good servers of the soak, in a process of their own.

Run: python -m tests.chaos.soak.good_web HOSTS PAGES LOG. Its first line of output is its port; it ends when its input does.
"""

import sys
from pathlib import Path

from gregor.demo.server import serve
from gregor.demo.site import DemoSite

if __name__ == "__main__":
    hosts, pages, log = sys.argv[1:]
    with serve(DemoSite(hosts=int(hosts), pages_per_host=int(pages)), log_file=Path(log)) as server:
        print(server.port, flush=True)
        sys.stdin.read()
