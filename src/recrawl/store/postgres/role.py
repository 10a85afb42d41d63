"""What every role of a store in PostgreSQL rests on: its connections."""

from __future__ import annotations

from typing import Any

from recrawl.store.postgres.connection import PostgresPool
from recrawl.store.postgres.rows import digest
from recrawl.store.rows import Row
from recrawl.store.sql import SqlRole


class PostgresRole(SqlRole):
    """A part of a store in PostgreSQL."""

    _connections: PostgresPool
    _by_bytes = 'COLLATE "C"'

    def _fetch(self, statement: str, *values: Any) -> list[Row]:
        return self._connections.reading(lambda connection: connection.fetch(statement, *values))

    def _write(self, statement: str, *values: Any) -> None:
        self._connections.writing(lambda connection: connection.run(statement, *values))

    def _among(self, column: str) -> str:
        return f"{column} = ANY($1)"

    def _named(self, column: str, text: str) -> tuple[str, Any]:
        return "digest", digest(text)
