"""Retention in one file (`recrawl.store.retention`): the index of words and empty pages give their space back.

There is one writer, so every step is short, by its own measure of time, and pauses for as long as it took: this program
takes turns with its crawler, and another program's crawler finds the store free within a few tries.
"""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from recrawl.store.records import Vacuumed
from recrawl.store.retention import SqlRetention, StoppedError
from recrawl.store.sqlite.database import Database
from recrawl.store.sqlite.role import SqliteStatements

STEP_S = 0.02
"""What a step should take."""
_FIRST, _LEAST, _MOST = 32, 1, 5000
"""Rows or pages in a step, before it is known how long they take, and at any time."""
_MANY = 0.1
"""If so large a part of the items was dropped, the index of words is written anew to be rid of them."""


class SqliteRetention(SqlRetention):
    """Half of what seems too much goes at a time: a row may be of any size."""

    step, room = 0.5, 1.0
    numbers = "json_each($1)"

    def __init__(self, database: Database, stop: Callable[[], bool]) -> None:
        super().__init__(stop)
        self._database = database
        self._sizes: dict[str, int] = defaultdict(lambda: _FIRST)

    @contextmanager
    def _view(self) -> Iterator[SqliteStatements]:
        with self._database.reading() as connection:
            yield SqliteStatements(connection)

    @contextmanager
    def _step(self, table: str, rows: int) -> Iterator[SqliteStatements]:
        with self._short(table, rows), self._database.writing() as connection:
            yield SqliteStatements(connection)

    def _at_once(self, table: str) -> int:
        return self._sizes[table]

    @contextmanager
    def _short(self, what: str, done: int) -> Iterator[None]:
        """Do so much, learn from it how much to do next time, and let others write."""
        if self._stop():
            raise StoppedError
        with self._database.alone():
            begun = time.perf_counter()
            yield
            took = time.perf_counter() - begun
        if done == self._sizes[what] or took > STEP_S:
            fitting = int(done * min(STEP_S / max(took, 1e-9), 2.0))
            self._sizes[what] = min(max(fitting, _LEAST), _MOST)
        time.sleep(min(took, STEP_S))

    def _drop_stale(self, table: str, condition: str, before: float) -> None:
        ids = self._found(f"SELECT rowid FROM {table} WHERE {condition}", before)
        again = condition.replace("$1", "$2")
        for some in self._portions(table, ids):
            with self._step(table, len(some)) as connection:
                among = f"rowid IN (SELECT value FROM {self.numbers})"
                connection.run(f"DELETE FROM {table} WHERE {among} AND {again}", some, before)

    def _begin(self) -> int:
        self._database.shorten_log()
        return self._size()

    def _size(self) -> int:
        with self._database.reading() as connection:
            return _value(connection, "page_count") * _value(connection, "page_size")

    def _let_go(self, full: bool) -> None:
        """Pages are free at once."""

    def _used(self, size: int) -> int:
        used = self._in_use()
        if used > size:
            self._merge_words(whole=True)
            used = self._in_use()
        return used

    def _in_use(self) -> int:
        with self._database.reading() as connection:
            free = _value(connection, "freelist_count") * _value(connection, "page_size")
        return self._size() - free

    def _merge_words(self, whole: bool) -> None:
        """Have the index of words let go of what was dropped: all of it, or what is due for merging in any case."""
        left = self._pages()  # while others write there is always something more to merge
        while left > 0:
            pages = self._sizes["words"]
            with self._short("words", pages), self._database.writing() as connection:
                before = connection.total_changes
                merge = "INSERT INTO items_text (items_text, rank) VALUES ('merge', ?)"
                connection.execute(merge, (-pages if whole else pages,))
                if connection.total_changes - before < 2:
                    return
            left -= pages

    def _give_back(self, gone: Vacuumed) -> int:
        """Empty pages leave the file, a few at a time."""
        if gone.items:
            self._merge_words(whole=gone.items > _MANY * self._items())
        free, before = self._free_pages(), -1
        while free and free != before:
            pages = self._sizes["pages"]
            with self._short("pages", pages), self._database.alone() as connection:
                connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
            free, before = self._free_pages(), free
        self._database.shorten_log()
        return self._size()

    def _items(self) -> int:
        """About how many there are: their numbers grow with their age, and counting them would take long."""
        ends = "(SELECT coalesce(max(id), 0) FROM items) - (SELECT coalesce(min(id), 0) FROM items)"
        return self._found(f"SELECT {ends} + 1")[0]

    def _pages(self) -> int:
        with self._database.reading() as connection:
            return _value(connection, "page_count")

    def _free_pages(self) -> int:
        with self._database.reading() as connection:
            return _value(connection, "freelist_count")


def _value(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
