"""PostgreSQL: a table with a unique index on the URL's text; one INSERT ... ON CONFLICT DO NOTHING a URL, or one a batch."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import psycopg

from bench.engines.interface import Stats, Urls
from bench.engines.postgres_server import PostgresServer
from bench.engines.text import texts_of

_TABLE: Final = 'CREATE TABLE urls (url text COLLATE "C" NOT NULL, depth smallint NOT NULL, visited boolean NOT NULL)'
_ONE: Final = "INSERT INTO urls VALUES (%s, 1, false) ON CONFLICT DO NOTHING"
_MANY: Final = (
    "INSERT INTO urls SELECT url, 1, false FROM unnest(%s::text[]) AS url ON CONFLICT DO NOTHING RETURNING url"
)


class Postgres:
    """One table; every statement is a transaction. Without a server given it starts one of its own, and stops it."""

    def __init__(self, way: Literal["single", "batched"] = "batched", server: PostgresServer | None = None) -> None:
        self._way = way
        self._given = server

    @property
    def name(self) -> str:
        return f"postgres-{self._way}"

    def open(self, folder: Path) -> None:
        """The server keeps its data in a folder of its own, which another user must be able to enter."""
        self.server = self._given or PostgresServer()
        self._connection = psycopg.connect(self.server.address, autocommit=True, prepare_threshold=0)
        self._cursor = self._connection.cursor(binary=True)
        self._cursor.execute("DROP TABLE IF EXISTS urls")
        self._cursor.execute(_TABLE)
        self._add_index()

    def check(self, batch: Urls) -> npt.NDArray[np.bool_]:
        urls = [url.decode("ascii") for url in texts_of(batch).tolist()]
        fresh = self._insert_each(urls) if self._way == "single" else self._insert_all(urls)
        mask = np.zeros(len(batch), dtype=np.bool_)
        mask[fresh] = True
        return mask

    def checkpoint(self) -> None:
        """Every statement was committed."""

    def stats(self) -> Stats:
        return self.server.traffic()

    def close(self) -> None:
        self._connection.close()
        if self._given is None:
            self.server.stop()

    def one_at_a_time(self) -> "Postgres":
        """The same open table, asked for each URL."""
        other = Postgres("single", self.server)
        other.server, other._connection, other._cursor = self.server, self._connection, self._cursor
        return other

    def load(self, batches: Iterable[Urls]) -> None:
        """COPY into the table without an index, then the index."""
        self._cursor.execute("ALTER TABLE urls DROP CONSTRAINT urls_pkey")
        with self._cursor.copy("COPY urls FROM STDIN") as copy:
            for batch in batches:
                lines = b"\t1\tf\n".join(texts_of(batch).tolist())
                if lines:
                    copy.write(lines + b"\t1\tf\n")
        self._add_index()

    def _add_index(self) -> None:
        self._cursor.execute("ALTER TABLE urls ADD CONSTRAINT urls_pkey PRIMARY KEY (url)")

    def _insert_each(self, urls: list[str]) -> list[int]:
        cursor = self._cursor
        return [index for index, url in enumerate(urls) if cursor.execute(_ONE, (url,)).rowcount]

    def _insert_all(self, urls: list[str]) -> list[int]:
        new = {row[0] for row in self._cursor.execute(_MANY, (urls,))}
        fresh = []
        for index, url in enumerate(urls):
            if url in new:
                new.remove(url)
                fresh.append(index)
        return fresh
