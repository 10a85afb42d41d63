"""Checking a store, and copying what can be read of a damaged one into a new one.

Rows are read by ranges of their numbers. A range that cannot be read to its end is halved, until what is lost is the
rows of damaged pages alone. Works on files too damaged to be opened as a store, as long as SQLite finds its tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from recrawl.errors import StoreError
from recrawl.store.sqlite import wal
from recrawl.store.sqlite.database import Database, for_reading
from recrawl.store.sqlite.error_messages import meaning

# Sources first, for the others refer to them; what is not here is derived from these.
_TABLES = (
    "sources",
    "progress",
    "items",
    "clicks",
    "readers",
    "reader_sources",
    "reader_items",
    "reader_labels",
    "brought",
    "signals",
    "subscriptions",
    "crawls",
    "versions",
    "restless",
    "numbers",
    "contents",
    "articles",
    "rendering",
    "screenshots",
    "events",
    "prices",
    "removed",
    "holds",
    "robots",
    "outlets",
    "notes",
)
_ORPHANS_POSSIBLE = (
    "progress",
    "items",
    "clicks",
    "reader_sources",
    "reader_items",
    "brought",
    "signals",
    "crawls",
    "versions",
    "restless",
    "numbers",
    "rendering",
    "screenshots",
)
_LINKS = {"crawl", "before"}
"""Columns by which crawls of a source are found."""
_COMPLAINTS = 100
_LARGEST = 2**62
# Ranges in a row that cannot be read, after which the rest of a table is given up: where its root or its last page is
# damaged, there is no end of them. A damaged inner page costs some ten thousand.
_PATIENCE = 50_000


def check(path: str | Path) -> list[str]:
    """What is wrong with a store file, in SQLite's words; empty if it is sound."""
    try:
        connection = _opened(Path(path))
    except sqlite3.Error as error:
        return [meaning(error)]
    try:
        found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_COMPLAINTS})") if row[0] != "ok"]
        found += [
            f"row {row[1]} of {row[0]} refers to a source that is not there"
            for row in connection.execute("PRAGMA foreign_key_check").fetchmany(_COMPLAINTS)
        ]
    except sqlite3.Error as error:
        return [meaning(error)]
    finally:
        connection.close()
    return found


def _opened(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StoreError(f"there is no store at {path}")
    address = f"file:{quote(str(path))}{for_reading(path)}"
    found = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    try:
        found.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        found.close()
        if not wal.no_room_to_share(error, path):
            raise
        found = wal.connect_alone(path)
        found.execute("PRAGMA query_only = ON")
    return found


def readable(path: str | Path) -> dict[str, int]:
    """How many rows of each table `salvage` could read; empty if SQLite does not even find the tables."""
    try:
        with closing(_opened(Path(path))) as connection:
            return {table: sum(1 for _ in _readable(connection, _reading(connection, table, "*"))) for table in _TABLES}
    except sqlite3.Error:
        return {}


def salvage(path: str | Path, to: str | Path) -> dict[str, int]:
    """Copy what can be read into a new store; how many rows of each table that was.

    Rows of sources that are lost are left out, words are indexed anew, sources whose progress is lost start afresh.
    """
    if Path(to).exists():
        raise StoreError(f"{to} is there already: salvage into a new file")
    try:
        damaged = _opened(Path(path))
        damaged.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"store {path}: nothing can be saved: {meaning(error)}") from error
    sound = Database(Path(to), read_only=False, timeout_s=10.0)
    try:
        with sound.writing() as connection:
            saved = {table: _copied(damaged, connection, table) for table in _TABLES}
            _complete(damaged, connection)
    finally:
        sound.close()
        damaged.close()
    return saved


def _copied(damaged: sqlite3.Connection, sound: sqlite3.Connection, table: str) -> int:
    names = _columns_of_both(damaged, sound, table)
    if not names:
        return 0
    listed = ", ".join(f'"{name}"' for name in names)
    insert = f"INSERT OR IGNORE INTO {table} ({listed}) VALUES ({', '.join('?' * len(names))})"
    read = _reading(damaged, table, listed)
    sources = {row[0] for row in sound.execute("SELECT id FROM sources")} if table in _ORPHANS_POSSIBLE else None
    place = names.index("source") if sources is not None else 0
    saved = 0
    for row in _readable(damaged, read):
        if sources is None or row[1:][place] in sources:
            try:
                saved += sound.execute(insert, row[1:]).rowcount
            except sqlite3.IntegrityError:
                continue
    return saved


def _columns_of_both(damaged: sqlite3.Connection, sound: sqlite3.Connection, table: str) -> list[str]:
    """An older store lacks columns, a newer one has more. Crawls are found without the links that may be broken."""
    there = {row[1] for row in damaged.execute(f"PRAGMA table_info({table})")}
    return [row[1] for row in sound.execute(f"PRAGMA table_info({table})") if row[1] in there - _LINKS]


def _reading(connection: sqlite3.Connection, table: str, columns: str) -> str:
    """The statement that reads a range of rows; of a table that is not there, nothing."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if there is None:
        return "SELECT 0 WHERE ? > ?"
    return f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid"


def _readable(connection: sqlite3.Connection, statement: str) -> Iterator[tuple[object, ...]]:
    """Every row that can be read: ranges of row numbers, halved where reading fails."""
    ranges, failures = [(0, _LARGEST)], 0
    while ranges and failures < _PATIENCE:
        low, high = ranges.pop()
        try:
            for row in connection.execute(statement, (low, high)):
                low, failures = int(row[0]) + 1, 0
                yield row
        except sqlite3.Error:
            failures += 1
            if low < high:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]


def _complete(damaged: sqlite3.Connection, sound: sqlite3.Connection) -> None:
    """What follows from the copied rows, and the few values kept one by one."""
    sound.execute("INSERT OR IGNORE INTO progress (source) SELECT id FROM sources")
    sound.execute(
        "INSERT OR IGNORE INTO tags "
        "SELECT value, sources.id FROM sources, json_each(sources.tags) WHERE sources.tags != ''"
    )
    sound.execute("INSERT INTO items_text (items_text) VALUES ('rebuild')")
    sound.execute(
        "UPDATE meta SET value = (SELECT max(largest) FROM (SELECT max(revision) AS largest FROM sources "
        "UNION ALL SELECT max(revision) FROM removed UNION ALL SELECT 0)) WHERE name = 'revision'"
    )
    for statement, insert in (
        ("SELECT value FROM meta WHERE name = 'shared'", "INSERT OR REPLACE INTO meta VALUES ('shared', ?)"),
        ("SELECT source, key FROM dropped", "INSERT OR IGNORE INTO dropped SELECT id, ?2 FROM sources WHERE id = ?1"),
    ):
        _copy_until_damage(damaged, sound, statement, insert)


def _copy_until_damage(damaged: sqlite3.Connection, sound: sqlite3.Connection, statement: str, insert: str) -> None:
    try:
        for row in damaged.execute(statement):
            sound.execute(insert, row)
    except sqlite3.DatabaseError:
        return
