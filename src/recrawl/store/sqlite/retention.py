"""Retention in one file (`recrawl.store.retention`): the index of words and empty pages give their space back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from recrawl.store.records import Vacuumed
from recrawl.store.retention import SqlRetention
from recrawl.store.sqlite import wal
from recrawl.store.sqlite.database import Database
from recrawl.store.sqlite.role import SqliteStatements

_FREED_AT_ONCE = 1000


class SqliteRetention(SqlRetention):
    """Half of what seems too much goes at a time: a row may be of any size."""

    chunk, step, room = 2000, 0.5, 1.0
    numbers = "json_each($1)"

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def _transaction(self) -> Iterator[SqliteStatements]:
        with self._database.writing() as connection:
            yield SqliteStatements(connection)

    def _begin(self) -> int:
        with self._database.alone() as connection:
            wal.empty(connection)
            return _file_size(connection)

    def _let_go(self, full: bool) -> None:
        """Pages are free at once."""

    def _used(self) -> int:
        self._merge_words()
        with self._database.alone() as connection:
            free = _value(connection, "freelist_count") * _value(connection, "page_size")
            return _file_size(connection) - free

    def _merge_words(self) -> None:
        """Have the index of words let go of what was dropped."""
        while True:
            with self._database.writing() as connection:
                before = connection.total_changes
                connection.execute("INSERT INTO items_text (items_text, rank) VALUES ('merge', -500)")
                if connection.total_changes - before < 2:
                    return

    def _give_back(self, gone: Vacuumed) -> int:
        """Empty pages leave the file, a few at a time."""
        if gone.items:
            self._merge_words()
        free, before = self._free_pages(), -1
        while free and free != before:
            with self._database.alone() as connection:
                connection.execute(f"PRAGMA incremental_vacuum({_FREED_AT_ONCE})").fetchall()
            free, before = self._free_pages(), free
        with self._database.alone() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return _file_size(connection)

    def _free_pages(self) -> int:
        with self._database.alone() as connection:
            return _value(connection, "freelist_count")


def _file_size(connection: sqlite3.Connection) -> int:
    return _value(connection, "page_count") * _value(connection, "page_size")


def _value(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
