"""What SQLite's errors mean to a person, and what can be done about them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from recrawl.errors import StoreError, StoreFullError
from recrawl.store.sqlite import wal

_MEANING = {
    sqlite3.SQLITE_BUSY: "another program is writing to it and did not finish in time: try again",
    sqlite3.SQLITE_LOCKED: "another program is writing to it and did not finish in time: try again",
    sqlite3.SQLITE_READONLY: "it cannot be written: the file, its folder or the file system is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists and may be written",
    sqlite3.SQLITE_PERM: "access to it is not permitted",
    sqlite3.SQLITE_AUTH: "access to it is not permitted",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: `recrawl doctor` says what can be saved",
    sqlite3.SQLITE_NOTADB: "it is not a recrawl store, or it is damaged: `recrawl doctor` says what can be saved",
    sqlite3.SQLITE_IOERR: "the disk did not do what it was asked to",
    sqlite3.SQLITE_TOOBIG: "something in it is larger than a store can hold",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


def meaning(error: sqlite3.Error) -> str:
    """In words, with SQLite's own in brackets."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == 0 and isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return "it is closed"
    words = _MEANING.get(code)
    return f"{words} ({error})" if words else str(error)


def _advice(path: Path) -> str:
    """What to do about a full disk."""
    kept = wal.length(path)
    if kept < wal.ROOM_BYTES or wal.room(path) >= (wanted := wal.wanted(path)):
        return "Make room, or run `recrawl vacuum`"
    return (
        f"Free {-(-wanted // 1000):,} KB on its disk and run `recrawl vacuum`: {path}-wal, which must not be deleted, "
        f"then gives back {kept // 1000:,} KB; or move the store with `recrawl backup` to another disk"
    )


def store_error(path: Path, error: Exception) -> StoreError:
    """Ours, for one of the database or the file system."""
    if isinstance(error, OverflowError):
        return StoreError(f"store {path}: a number does not fit into 64 bits ({error})")
    if isinstance(error, OSError):
        return StoreError(f"store {path}: {error.strerror or error}")
    if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_FULL:
        return StoreError(f"store {path}: {meaning(error)}")
    return StoreFullError(f"store {path}: no space left; nothing of the last write was kept. {_advice(path)} ({error})")
