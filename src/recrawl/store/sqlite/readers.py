"""Readers, and what they have read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec

from recrawl.store.records import Added, Source
from recrawl.store.retention import Statements
from recrawl.store.rows import mended
from recrawl.store.sql_readers import SqlReaders
from recrawl.store.sql_reading import SqlReading
from recrawl.store.sqlite.catalogue import add, next_revision, remove
from recrawl.store.sqlite.role import SqliteRole, SqliteStatements

T = TypeVar("T")


class SqliteReaders(SqliteRole, SqlReaders, SqlReading):
    """The readers of a store in one file."""

    _by_source = "items INDEXED BY items_of_source"
    _by_number = "items INDEXED BY items_by_number"

    def _transaction(self, work: Callable[[Statements], T]) -> T:
        with self._database.writing() as connection:
            return work(SqliteStatements(connection))

    def _rows(self, place: int) -> str:
        return f"json_each(${place})"

    def _numbers(self, statement: str, *values: Any) -> list[int]:
        """In one row: for each, all threads would take turns with the interpreter's lock."""
        return msgspec.json.decode(self._fetch(f"SELECT json_group_array(id) FROM ({statement})", *values)[0][0])

    def _turn(self, statements: Statements) -> int:
        return next_revision(cast("SqliteStatements", statements).connection)

    def _take_in(self, statements: Statements, sources: Sequence[Source]) -> list[Added]:
        return add(cast("SqliteStatements", statements).connection, mended(list(sources)))

    def _let_leave(self, statements: Statements, sources: Sequence[int]) -> None:
        remove(cast("SqliteStatements", statements).connection, sources)
