"""Readers, and what they have read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from recrawl.store.postgres.catalogue import add, next_revision, remove
from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.role import PostgresRole
from recrawl.store.records import Added, Source
from recrawl.store.retention import Statements
from recrawl.store.rows import mended
from recrawl.store.sql_readers import SqlReaders
from recrawl.store.sql_reading import SqlReading

T = TypeVar("T")


class PostgresReaders(PostgresRole, SqlReaders, SqlReading):
    """The readers of a store in PostgreSQL."""

    _held = "FOR KEY SHARE OF items"

    def _transaction(self, work: Callable[[Statements], T]) -> T:
        return self._connections.writing(work)

    def _rows(self, place: int) -> str:
        return f"unnest(${place}::bigint[]) AS given (value)"

    def _numbers(self, statement: str, *values: Any) -> list[int]:
        return [row[0] for row in self._fetch(statement, *values)]

    def _turn(self, statements: Statements) -> int:
        return next_revision(cast("PostgresConnection", statements))

    def _take_in(self, statements: Statements, sources: Sequence[Source]) -> list[Added]:
        return add(cast("PostgresConnection", statements), mended(list(sources)))

    def _let_leave(self, statements: Statements, sources: Sequence[int]) -> None:
        remove(cast("PostgresConnection", statements), sources)
