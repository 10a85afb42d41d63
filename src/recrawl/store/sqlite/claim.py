"""One crawler per store: a lock of the operating system, which dies with its holder, and a row that names it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
import weakref
from pathlib import Path

from recrawl.errors import StoreError
from recrawl.store.claimant import claimant
from recrawl.store.rows import mended
from recrawl.store.sqlite.permissions import mode_beside
from recrawl.store.sqlite.role import SqliteRole

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


class SqliteClaim(SqliteRole):
    """Who crawls a store in one file."""

    path: Path
    _lock: Lock

    def claim(self, owner: str, now: float) -> None:
        """Become the one that crawls; StoreError naming the other if one is alive. Ended by `release` or by death."""
        with self._database.alone():
            if not self._lock.take():
                # A passing look at the lock, as `claimed` takes, is over by the second try.
                time.sleep(0.05)
                if not self._lock.take():
                    raise StoreError(f"{self.path} is being crawled by {self._signed()}: stop that one first")
        name = {"owner": mended(owner), "pid": os.getpid(), "host": socket.gethostname(), "since": now}
        try:
            self._write("INSERT OR REPLACE INTO meta VALUES ('crawler', $1)", json.dumps(name))
        except BaseException:
            self._lock.give_up()
            raise

    def claimed(self) -> str | None:
        """Who is crawling now, in words; None if nobody is."""
        return None if self._lock.free() else self._signed()

    def release(self) -> None:
        """Give up the claim."""
        if not self._lock.held:
            return
        try:
            self._write("DELETE FROM meta WHERE name = 'crawler'")
        finally:
            self._lock.give_up()

    def _signed(self) -> str:
        rows = self._fetch("SELECT value FROM meta WHERE name = 'crawler'")
        if not rows:
            return "another program"
        by = json.loads(rows[0][0])
        return claimant(by["owner"], by["pid"], by["host"], by["since"])
