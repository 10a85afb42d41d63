"""The write-ahead log kept short, and a store on a full disk kept usable.

Commits go to `…-wal` and from there, a checkpoint at a time, into the store. Two things make the log long: checkpoints
that come late for the size of the store, and readers that hold on to an old moment, behind which it cannot be emptied.
So its length follows the size of the store, and one that has got long all the same is emptied as soon as nobody reads.

On a full disk a checkpoint may still succeed, since most pages it writes are in the store already; that gives the log's
space back. A store can be read even where there is no room for the index that programs share (`…-shm`): alone, with the
index in memory.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

LEAST_PAGES, MOST_PAGES = 1000, 20_000
"""Of the log. A checkpoint is begun at half of that: a log written anew costs half of one that grows."""
SHARE = 4
"""The store may be so many times as long."""
FAR_TOO_LONG = 4
"""Times its usual length: checkpoints are made, and the log is emptied, even if that keeps writers waiting."""
ROOM_BYTES = 128 * 1024
"""Less than this left on a disk is none."""
_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
_ROOM_ERRORS = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}


def pace(connection: sqlite3.Connection, *, alone: bool = False) -> int:
    """Set how long the log may become, by the size of the store as it is now; in bytes.

    `alone`: nobody makes checkpoints beside the commits, so commits make them in time.
    """
    pages = _value(connection, "page_count")
    allowed = min(max(pages // SHARE, LEAST_PAGES), MOST_PAGES)
    size = allowed * _value(connection, "page_size")
    connection.execute(f"PRAGMA wal_autocheckpoint = {allowed // 2 if alone else FAR_TOO_LONG * allowed}")
    connection.execute(f"PRAGMA journal_size_limit = {size}")
    return size


def length(path: Path) -> int:
    """Of the log, in bytes."""
    try:
        return os.stat(f"{path}-wal").st_size
    except OSError:
        return 0


def used(path: Path) -> int:
    """Bytes of the log that belong to this round; the rest of the file is from before it began anew.

    Frames are written one after the other, each with the salt of its round, so the last is found by halving. SQLite
    locks other files than this one: it may be opened and closed.
    """
    try:
        with open(f"{path}-wal", "rb", buffering=0) as log:
            return _used(log)
    except (OSError, struct.error):
        return 0


def _used(log: BinaryIO) -> int:
    _, _, page_size, _, *salt = _HEADER.unpack(log.read(_HEADER.size))[:6]
    frame = _FRAME.size + page_size
    low, high = 0, (log.seek(0, os.SEEK_END) - _HEADER.size) // frame
    while low < high:
        middle = (low + high) // 2
        log.seek(_HEADER.size + middle * frame)
        if [*_FRAME.unpack(log.read(_FRAME.size))[2:4]] == salt:
            low = middle + 1
        else:
            high = middle
    return low * frame


def empty(connection: sqlite3.Connection) -> bool:
    """Bring all of the log into the store and cut it to nothing, unless others are in the way; whether that worked."""
    patience = _value(connection, "busy_timeout")
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error:
        return False
    finally:
        with suppress(sqlite3.Error):
            connection.execute(f"PRAGMA busy_timeout = {patience}")


def no_room_to_share(error: sqlite3.Error, path: Path) -> bool:
    """Whether it is for want of space that a store could not be opened beside others."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _ROOM_ERRORS and room(path) < ROOM_BYTES


def is_out_of_room(error: sqlite3.Error, path: Path) -> bool:
    """Whether a write failed for want of space."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_FULL or no_room_to_share(error, path)


def room(path: Path) -> int:
    """Bytes left on the disk of a store."""
    try:
        disk = os.statvfs(path.absolute().parent)
    except OSError:
        return 0
    return disk.f_bavail * disk.f_frsize


def connect_alone(path: Path, timeout_s: float = 10.0) -> sqlite3.Connection:
    """A connection that keeps others out, and needs no file beside the store and its log."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def wanted(path: Path) -> int:
    """Bytes that must be free for the log to fit into the store; at least `ROOM_BYTES`."""
    try:
        with open(f"{path}-wal", "rb") as log:
            grown = _size_after(log) - path.stat().st_size
    except (OSError, struct.error):
        grown = 0
    return max(grown, 0) + ROOM_BYTES


def _size_after(log: BinaryIO) -> int:
    """Of the store once the log is in it. Read from the file: where there is no room, it may not be possible to ask.

    A log is a header and frames, each with the salt of the header if it belongs to this round, and, if it ends a
    transaction, with the pages the store has then [sqlite.org/fileformat2.html, 4.1].
    """
    header = log.read(_HEADER.size)
    _, _, page_size, _, salt, *_ = _HEADER.unpack(header)
    pages, place = 0, _HEADER.size
    while len(frame := log.read(_FRAME.size)) == _FRAME.size:
        _, size, its_salt, *_ = _FRAME.unpack(frame)
        if its_salt != salt:
            break
        pages = size or pages
        place += _FRAME.size + page_size
        log.seek(place)
    return pages * page_size


def _value(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
