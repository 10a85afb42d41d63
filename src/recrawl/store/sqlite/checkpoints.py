"""Checkpoints beside the commits: a thread brings the log into the store, on a connection of its own.

A checkpoint writes every page that changed to its place and waits for the disk, many times as long as a commit takes.
It is done while commits go on behind it. Only when they have left no pause for long, in which the log could begin anew,
is the rest, which is little by then, brought over in a turn of its own between two commits.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing

ROUNDS = 4
"""Of a checkpoint, each bringing over what was committed during the one before."""
LITTLE = 500
"""Pages that may be brought over in a turn of its own."""
FAR = 2
"""Times as long as a log may be: then it is time for such a turn."""


class Checkpoints:
    """At most one checkpoint at a time.

    Parameters
        connect: makes a connection to the store
        turn: keeps commits of this program waiting
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], turn: AbstractContextManager[object]) -> None:
        self._connect, self._turn = connect, turn
        self._thread: threading.Thread | None = None
        self._begun_at = 0
        self._closing = threading.Event()

    @property
    def are_made(self) -> bool:
        """Whether one is being made, which keeps others from making any."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, used: int, allowed: int) -> None:
        """Make one of a log so long, in bytes, that may be so long, unless one is being made. Called in a turn.

        A log that a reader keeps from beginning anew is looked at again when it has grown by as much.
        """
        since = used - self._begun_at if used >= self._begun_at else used
        if since > allowed and not self.are_made:
            self._begun_at, far = used, used > FAR * allowed
            self._thread = threading.Thread(target=self._made, args=(far,), name="checkpoint", daemon=True)
            self._thread.start()

    def _made(self, far: bool) -> None:
        try:
            with closing(self._connect()) as connection:
                self.make(connection, whole=far)
        except sqlite3.Error:
            return  # a full disk, say: SQLite makes one itself once the log is far too long

    def make(self, connection: sqlite3.Connection, *, whole: bool = False) -> None:
        """Bring over the log as far as readers allow; `whole`: even if a commit has to wait for the rest."""
        for _ in range(ROUNDS):
            if self._closing.is_set():
                return
            left = _brought_over(connection)
            if not left or (whole and left <= LITTLE):
                break
        if left and whole:
            with self._turn:
                if not self._closing.is_set():
                    _brought_over(connection)

    def close(self) -> None:
        """Wait for the one being made. Called without the turn."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()


def _brought_over(connection: sqlite3.Connection) -> int:
    """Pages that are left in the log. As many as were there before are kept back by a reader, or by another program."""
    busy, pages, done = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return 0 if busy else pages - done
