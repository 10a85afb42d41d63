"""Events, and how far each outlet has got with them."""

from __future__ import annotations

import sqlite3

from recrawl.store.base import Event
from recrawl.store.sqlite.rows import columns, record_of


def events(connection: sqlite3.Connection, after: int, limit: int) -> list[Event]:
    """Those with a larger number, in order."""
    statement = f"SELECT {columns(Event)} FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
    return [record_of(Event, row) for row in connection.execute(statement, (after, limit))]


def last_seq(connection: sqlite3.Connection) -> int:
    """The largest number ever given, also when its event is gone."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
    return int(row[0]) if row else 0


def cursor(connection: sqlite3.Connection, outlet: str) -> int | None:
    """How far an outlet has got; None for one never heard of."""
    row = connection.execute("SELECT seq FROM outlets WHERE name = ?", (outlet,)).fetchone()
    return int(row[0]) if row else None


def introduce(connection: sqlite3.Connection, outlet: str) -> int:
    """Remember an outlet from now on, so that what happens before its first delivery is not lost to it."""
    connection.execute("INSERT OR IGNORE INTO outlets VALUES (?, ?)", (outlet, last_seq(connection)))
    return cursor(connection, outlet) or 0


def advance(connection: sqlite3.Connection, outlet: str, seq: int) -> None:
    """Forwards only."""
    statement = "INSERT INTO outlets VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = max(seq, excluded.seq)"
    connection.execute(statement, (outlet, seq))


def note(connection: sqlite3.Connection, name: str) -> bytes | None:
    """What is kept under a name."""
    row = connection.execute("SELECT text FROM notes WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def write_note(connection: sqlite3.Connection, name: str, text: bytes | None) -> None:
    """In place of what was there."""
    if text is None:
        connection.execute("DELETE FROM notes WHERE name = ?", (name,))
    else:
        connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, text))
