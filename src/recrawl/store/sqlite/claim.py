"""One crawler per store: a lock of the operating system, which dies with its holder, and a row that names it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sqlite3
import weakref
from pathlib import Path

from recrawl.store.claimant import claimant
from recrawl.store.sqlite.permissions import mode_beside

_HELD: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """An advisory lock on a file beside the store, by whatever link that is named. The file stays; the lock on it
    comes and goes."""

    def __init__(self, store: Path) -> None:
        self._store, self._path = store, Path(f"{store.resolve()}.lock")
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._file is not None

    def take(self) -> bool:
        """Get it, unless somebody else has it."""
        if self._file is not None:
            return True
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode_beside(self._store))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        _HELD.add(self)
        return True

    def free(self) -> bool:
        """Whether nobody has it."""
        if self._file is not None or not self._path.exists():
            return self._file is None
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(file)
        return True

    def give_up(self) -> None:
        """Let it go, if held."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.close()

    def close(self) -> None:
        """Let go of the file alone: whoever has a copy of it open goes on holding the lock."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


def _leave_locks_to_the_parent() -> None:
    """A forked child must not keep the lock alive after its parent's death; closing its copy leaves the lock alone."""
    for lock in list(_HELD):
        lock.close()


os.register_at_fork(after_in_child=_leave_locks_to_the_parent)


def sign(connection: sqlite3.Connection, owner: str, now: float) -> None:
    """Write down who crawls."""
    name = json.dumps({"owner": owner, "pid": os.getpid(), "host": socket.gethostname(), "since": now})
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('crawler', ?)", (name,))


def unsign(connection: sqlite3.Connection) -> None:
    """Strike it out."""
    connection.execute("DELETE FROM meta WHERE name = 'crawler'")


def signed(connection: sqlite3.Connection) -> str:
    """Who signed last, in words."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'crawler'").fetchone()
    if row is None:
        return "another program"
    by = json.loads(row[0])
    return claimant(by["owner"], by["pid"], by["host"], by["since"])
