"""Moving a store from one kind of database to another, row by row, with every number it has given.

The contract of `base` is not enough for that: it gives numbers itself, and does not show what only the store needs
(keys of dropped items, ids of removed sources, how far outlets got). Events, links and clicks speak of sources and
items by number, so a copy with other numbers would be another store. Each kind of store therefore has a way out,
which sees one moment of it, and a way in, which is one transaction into an empty one; between them go rows of the
columns named here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from recrawl.errors import StoreError
from recrawl.store.base import Click, Crawl, Event, Hold, Item, Price, Progress, Robots, Source, Store, Version
from recrawl.store.sqlite import SqliteStore
from recrawl.store.sqlite.rows import names

Row = Sequence[Any]
AT_ONCE = 2000
"""Rows on the way at a time."""
TABLES: Mapping[str, tuple[str, ...]] = {
    "sources": names(Source),
    "tags": ("tag", "source"),
    "removed": ("source", "revision"),
    "progress": names(Progress),
    "crawls": ("id", *names(Crawl)),
    "items": names(Item),
    "dropped": ("source", "key"),
    "versions": names(Version),
    "clicks": names(Click),
    "holds": names(Hold),
    "robots": names(Robots),
    "prices": ("id", *names(Price)),
    "events": names(Event),
    "outlets": ("name", "seq"),
    "notes": ("name", "text"),
}
"""In an order in which rows come after those they refer to."""
MARKS = ("revision", "sources", "items", "versions", "clicks", "events")
"""What the last numbers given are kept of: numbers are never used again, also after a move."""


class Outgoing(Protocol):
    """One moment of a store."""

    def count(self, table: str) -> int:
        """How many rows."""
        ...

    def rows(self, table: str) -> Iterator[list[Row]]:
        """All rows of the columns in `TABLES`, some at a time, in the order they were written."""
        ...

    def marks(self) -> dict[str, int]:
        """The last numbers given."""
        ...

    def shared(self) -> bytes | None:
        """The learner's record of the whole catalogue."""
        ...


class Incoming(Protocol):
    """A transaction into an empty store."""

    def is_empty(self) -> bool:
        """Whether nothing was ever written to it."""
        ...

    def fill(self, table: str, rows: list[Row]) -> None:
        """Take in rows of the columns in `TABLES`."""
        ...

    def finish(self, marks: Mapping[str, int], shared: bytes | None) -> None:
        """All rows are there."""
        ...


def copy(source: Store, target: Store, progress: Callable[[str, float], None]) -> dict[str, int]:
    """Copy all of a store into an empty one; how many rows of each table that was."""
    crawler = source.claimed()
    if crawler is not None:
        raise StoreError(f"{source!r} is being crawled by {crawler}: stop that one first, or what it finds is lost")
    if getattr(source, "live_leases", int)():
        raise StoreError(
            f"{source!r} is being crawled by a fleet: recrawl cluster down first, or what it finds is lost"
        )
    target.claim("recrawl store copy", time.time())
    try:
        with _way_out(source) as out, _way_in(target) as into:
            if not into.is_empty():
                raise StoreError(f"{target!r} is not empty: name a new store to copy into")
            copied = {table: _table(out, into, table, progress) for table in TABLES}
            into.finish(out.marks(), out.shared())
    finally:
        target.release()
    return copied


def _table(out: Outgoing, into: Incoming, table: str, progress: Callable[[str, float], None]) -> int:
    expected, done = out.count(table), 0
    if not expected:
        return 0
    progress(table, 0.0)
    for rows in out.rows(table):
        into.fill(table, rows)
        done += len(rows)
        progress(table, min(done / expected, 0.999))
    progress(table, 1.0)
    return done


def _way_out(store: Store) -> AbstractContextManager[Outgoing]:
    if isinstance(store, SqliteStore):
        from recrawl.store.sqlite import transfer

        return transfer.outgoing(store.path)
    return _postgres(store).outgoing()


def _way_in(store: Store) -> AbstractContextManager[Incoming]:
    if isinstance(store, SqliteStore):
        from recrawl.store.sqlite import transfer

        return transfer.incoming(store.path)
    return _postgres(store).incoming()


def _postgres(store: Store) -> Any:
    if not hasattr(store, "outgoing"):
        raise StoreError(f"{store!r} cannot be copied")
    return store
