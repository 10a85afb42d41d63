"""What every role of the embedded store rests on: its connections."""

from __future__ import annotations

import sqlite3
from typing import Any

from recrawl.store.rows import Row, mended
from recrawl.store.sql import SqlRole
from recrawl.store.sqlite.database import Database, numbers


class SqliteStatements:
    """A connection that takes statements as PostgreSQL does: numbered values, a list of numbers as one of them.

    To SQLite `$1` is a value named 1. Python 3.12.0 to 3.12.3 would warn of a sequence of values for `?1`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def fetch(self, statement: str, *given: Any) -> list[Row]:
        """All rows."""
        values = [numbers(value) if isinstance(value, list) else mended(value) for value in given]
        named = {str(place): value for place, value in enumerate(values, 1)}
        return self.connection.execute(statement, named).fetchall()

    def run(self, statement: str, *given: Any) -> None:
        """A statement without rows."""
        self.fetch(statement, *given)


class SqliteRole(SqlRole):
    """A part of a store in one file."""

    _database: Database
    _by_bytes = "COLLATE BINARY"

    def _fetch(self, statement: str, *values: Any) -> list[Row]:
        with self._database.reading() as connection:
            return SqliteStatements(connection).fetch(statement, *values)

    def _write(self, statement: str, *values: Any) -> None:
        with self._database.writing() as connection:
            SqliteStatements(connection).run(statement, *values)

    def _among(self, column: str) -> str:
        return f"{column} IN (SELECT value FROM json_each($1))"

    def _named(self, column: str, text: str) -> tuple[str, Any]:
        return column, text
