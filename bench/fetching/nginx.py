"""nginx as a child process on a port of its own, with a folder of pages of 20 KB or any other folder."""

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.engines.provision import need

PAGES: Final = 64
PAGE_BYTES: Final = 20 * 1024

_CONFIG: Final = """
daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    log_format line '$msec $status $request_uri';
    access_log {log};
    keepalive_requests 10000000;
    open_file_cache max=1000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; text/css css; image/png png; text/javascript js; image/svg+xml svg; }}
    gzip_static {gzip};
    server {{ listen 0.0.0.0:{port}{tls}; root {root}; }}
}}
"""


def program() -> str:
    """nginx's path; installs it where that is possible, and says how where it is not."""
    return need("nginx, the server to fetch from", ("nginx-light",), _found)


def _found() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def nginx(
    root: Path | None = None, log: Path | None = None, certificate: Path | None = None, packed: bool = False
) -> Iterator[int]:
    """Yields the port; it answers on every address of 127.0.0.0/8. ``log`` gets a line for each request: time, status, path.

    With a ``certificate`` (a file with its key in it) it speaks TLS; ``packed``: files that lie there as .gz too are sent so.
    """
    with TemporaryDirectory(prefix="gregor-bench-") as name:
        folder = Path(name)
        # Workers of nginx run as another user and must reach the pages.
        folder.chmod(0o755)
        if root is None:
            root = folder / "html"
            _write_pages(root)
        port = _free_port()
        config = folder / "nginx.conf"
        # Started by root its workers would run as somebody who may not read what root has in a cache.
        user = "user root;" if os.geteuid() == 0 else ""
        # A buffer, so that the log costs next to nothing; it is written when nginx ends.
        where = "off" if log is None else f"{log} line buffer=256k"
        tls = f" ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate}" if certificate else ""
        gzip = "on" if packed else "off"
        config.write_text(_CONFIG.format(user=user, folder=folder, port=port, root=root, log=where, tls=tls, gzip=gzip))
        process = subprocess.Popen([program(), "-c", str(config), "-e", f"{folder}/error.log"])
        try:
            _wait(process, port, folder)
            yield port
        finally:
            process.terminate()
            process.wait()


def _write_pages(folder: Path) -> None:
    folder.mkdir()
    words = [f"word{number}" for number in range(5000)]
    for page in range(PAGES):
        text = " ".join(random.Random(page).choices(words, k=PAGE_BYTES // 8))
        (folder / f"{page}.html").write_text(f"<!doctype html><title>{page}</title>{text}"[:PAGE_BYTES])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> None:
    for _ in range(200):
        if process.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nginx did not come up: {(folder / 'error.log').read_text()[-1000:]}")
