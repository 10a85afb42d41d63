"""Rows as SQLite takes them."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TypeVar, cast

import msgspec

from recrawl.store.rows import Row, names

T = TypeVar("T")


def insertion(table: str, record: type[msgspec.Struct], *, without: str = "", how: str = "INSERT") -> str:
    """The statement that puts a record's row into a table; `without` is a column the store fills itself."""
    kept = [name for name in names(record) if name != without]
    listed = ", ".join(f'"{name}"' for name in kept)
    return f"{how} INTO {table} ({listed}) VALUES ({', '.join('?' * len(kept))})"


def as_row(record: type[T], without: str = "") -> Callable[[T], Row]:
    """A fast function from a record to its row."""
    kept = [name for name in names(cast("type[msgspec.Struct]", record)) if name != without]
    return cast("Callable[[T], Row]", attrgetter(*kept))
