"""Moving a store from one kind of database to another, row by row, with every number it has given.

The contract of `roles` is not enough for that: it gives numbers itself, and does not show what only the store needs
(keys of dropped items, ids of removed sources, how far outlets got). Events, links and clicks speak of sources and
items by number, so a copy with other numbers would be another store. Each kind of store therefore has an export, which
sees one moment of it, and an import, which is one transaction into an empty one; between them go rows of the columns
named here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from recrawl.errors import StoreError
from recrawl.store.reader_records import Reader
from recrawl.store.records import (
    Click,
    Crawl,
    Event,
    Hold,
    Item,
    Price,
    Progress,
    Robots,
    Signal,
    Source,
    Subscription,
    Version,
)
from recrawl.store.roles import CrawlLog
from recrawl.store.rows import names

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
    "contents": ("item", "author", "record"),
    "articles": ("item", "due", "tries"),
    "dropped": ("source", "key"),
    "versions": names(Version),
    "restless": ("source", "record"),
    "numbers": ("source", "record"),
    "rendering": ("source", "record"),
    "screenshots": ("source", "record"),
    "clicks": names(Click),
    "readers": names(Reader),
    "reader_sources": ("reader", "source", "title", "labels", "added", "read_to", "read_since"),
    "reader_items": ("reader", "item", "source", "read", "starred"),
    "reader_labels": ("reader", "item", "label"),
    "brought": ("source", "reader"),
    "signals": names(Signal),
    "subscriptions": names(Subscription),
    "holds": names(Hold),
    "robots": names(Robots),
    "prices": ("id", *names(Price)),
    "events": names(Event),
    "outlets": ("name", "seq"),
    "notes": ("name", "text"),
}
"""In an order in which rows come after those they refer to."""
MARKS = ("revision", "sources", "items", "versions", "clicks", "readers", "signals", "events")
"""What the last numbers given are kept of: numbers are never used again, also after a move."""


class Export(Protocol):
    """One moment of a store."""

    def count(self, table: str) -> int:
        """How many rows."""
        ...

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        """All rows of the columns in `TABLES`, some at a time, in the order they were written."""
        ...

    def marks(self) -> dict[str, int]:
        """The last numbers given."""
        ...

    def shared(self) -> bytes | None:
        """The learner's record of the whole catalogue."""
        ...


class Import(Protocol):
    """A transaction into an empty store."""

    def is_empty(self) -> bool:
        """Whether nothing was ever written to it."""
        ...

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        """Take in rows of the columns in `TABLES`."""
        ...

    def finish(self, marks: Mapping[str, int], shared: bytes | None) -> None:
        """All rows are there."""
        ...


class CopiedStore(CrawlLog, Protocol):
    """A store that can be copied."""

    def live_leases(self) -> int:
        """How many parts of it are owned by shards of a fleet now."""
        ...

    def exporting(self) -> AbstractContextManager[Export]:
        """One moment of it."""
        ...

    def importing(self) -> AbstractContextManager[Import]:
        """A transaction that fills it."""
        ...


def listed(table: str) -> str:
    """The columns of a table, as SQL."""
    return ", ".join(f'"{name}"' for name in TABLES[table])


def copy(source: CopiedStore, target: CopiedStore, progress: Callable[[str, float], None]) -> dict[str, int]:
    """Copy all of a store into an empty one; how many rows of each table that was."""
    crawler = source.claimed()
    if crawler is not None:
        raise StoreError(f"{source!r} is being crawled by {crawler}: stop that one first, or what it finds is lost")
    if source.live_leases():
        raise StoreError(
            f"{source!r} is being crawled by a fleet: recrawl cluster down first, or what it finds is lost"
        )
    target.claim("recrawl store copy", time.time())
    try:
        with source.exporting() as out, target.importing() as into:
            if not into.is_empty():
                raise StoreError(f"{target!r} is not empty: name a new store to copy into")
            copied = {table: _table(out, into, table, progress) for table in TABLES}
            into.finish(out.marks(), out.shared())
    finally:
        target.release()
    return copied


def _table(out: Export, into: Import, table: str, progress: Callable[[str, float], None]) -> int:
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
