"""Rows as SQLite takes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from typing import TypeVar, cast

import msgspec

from recrawl.store.rows import Row, names

T = TypeVar("T")
PORTION = 32
"""Rows of one statement: as many as spare most of what each statement costs, and few enough for any SQLite."""


def insertion(table: str, record: type[msgspec.Struct], *, without: str = "", how: str = "INSERT") -> str:
    """The statement that puts a record's row into a table; `without` is a column the store fills itself."""
    kept = [name for name in names(record) if name != without]
    listed = ", ".join(f'"{name}"' for name in kept)
    return f"{how} INTO {table} ({listed}) VALUES ({', '.join('?' * len(kept))})"


def as_row(record: type[T], without: str = "") -> Callable[[T], Row]:
    """A fast function from a record to its row."""
    kept = [name for name in names(cast("type[msgspec.Struct]", record)) if name != without]
    return cast("Callable[[T], Row]", attrgetter(*kept))


def insert(connection: sqlite3.Connection, statement: str, rows: Sequence[Row], portion: int = PORTION) -> None:
    """Many rows, as `insertion` puts in one: numbers that SQLite gives out are booked once per statement."""
    before, values, one = statement.partition(" VALUES ")
    places, conflict, rest = one.partition(" ON CONFLICT ")
    several = before + values + ", ".join([places] * portion) + conflict + rest
    whole = len(rows) // portion * portion
    for begin in range(0, whole, portion):
        connection.execute(several, tuple(chain.from_iterable(rows[begin : begin + portion])))
    connection.executemany(statement, rows[whole:])
