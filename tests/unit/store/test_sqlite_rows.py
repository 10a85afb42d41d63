"""Many rows are put in as one by one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from recrawl.store.records import Item
from recrawl.store.sqlite.rows import PORTION, as_row, insert, insertion

STATEMENT = insertion("items", Item, without="id", how="INSERT OR IGNORE")
TABLE = """
CREATE TABLE items (id INTEGER PRIMARY KEY AUTOINCREMENT, source, key UNIQUE, kind, title, link, summary, published,
                    first_seen)
"""


def put(rows: list[tuple[object, ...]], *, together: bool) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLE)
        for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            if together:
                insert(connection, STATEMENT, half)
            else:
                for row in half:
                    connection.execute(STATEMENT, row)
        return (
            connection.execute("SELECT * FROM items ORDER BY id").fetchall(),
            connection.execute("SELECT * FROM sqlite_sequence").fetchall(),
        )


@given(st.lists(st.integers(0, 150), max_size=5 * PORTION))
def test_rows_and_their_ids_are_those_of_one_by_one(keys: list[int]) -> None:
    row = as_row(Item, without="id")
    rows = [row(Item(source=place, key=key, title=f"{place}")) for place, key in enumerate(keys)]
    assert put(rows, together=True) == put(rows, together=False)
