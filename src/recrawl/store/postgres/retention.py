"""Retention in PostgreSQL (`recrawl.store.retention`).

The server keeps the space of dropped rows for new ones; that is enough where ages decide, since as much comes as goes.
A bound on the size is held by dropping the oldest until nine tenths of it should be used and then writing the tables
anew, during which a crawler waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.records import Vacuumed
from recrawl.store.retention import BY_SIZE, SqlRetention

_ROWS_AT_ONCE, _LISTINGS_AT_ONCE = 5000, 100
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
"""


class PostgresRetention(SqlRetention):
    """On one connection. Rows that are dropped keep nobody waiting but those who want to change the same rows."""

    step, room = 1.0, 0.9
    numbers = "unnest($1::bigint[]) AS given (value)"

    def __init__(self, connection: PostgresConnection, stop: Callable[[], bool]) -> None:
        super().__init__(stop)
        self._connection = connection

    @contextmanager
    def _view(self) -> Iterator[PostgresConnection]:
        yield self._connection

    @contextmanager
    def _step(self, table: str, rows: int) -> Iterator[PostgresConnection]:
        with self._connection.transaction():
            yield self._connection

    def _at_once(self, table: str) -> int:
        return _LISTINGS_AT_ONCE if table == "dropped" else _ROWS_AT_ONCE

    def _drop_stale(self, table: str, condition: str, before: float) -> None:
        self._connection.run(f"DELETE FROM {table} WHERE {condition}", before)

    def _begin(self) -> int:
        return self._size()

    def _let_go(self, full: bool) -> None:
        self._connection.run("DELETE FROM commits WHERE at < now() - interval '1 day'")
        for table in BY_SIZE if full else (*BY_SIZE, "prices", "events", "dropped", "progress"):
            self._connection.run(f"VACUUM ({'FULL, ' if full else ''}ANALYZE) {table}")

    def _size(self) -> int:
        return int(self._connection.fetchval(_SIZE))

    def _used(self, size: int) -> int:
        return self._size()

    def _give_back(self, gone: Vacuumed) -> int:
        return self._size()
