"""Checkpoints beside the commits: a thread brings the log into the store, on a connection of its own.

A checkpoint writes every page that changed to its place and waits for the disk, many times as long as a commit takes.
Most of it is done while commits go on behind it. Only when they leave no pause in which the log could begin anew is the
rest, which is little by then, brought over in a turn of its own between two commits.
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

    def begin(self, used: int, allowed: int) -> None:
        """Make one of a log so long, in bytes, that may be so long, unless one is being made. Called in a turn.

        A log that a reader keeps from beginning anew is looked at again when it has grown by as much.
        """
        since = used - self._begun_at if used >= self._begun_at else used
        if since > allowed and (self._thread is None or not self._thread.is_alive()):
            self._begun_at = used
            self._thread = threading.Thread(target=self._made, name="checkpoint", daemon=True)
            self._thread.start()

    def _made(self) -> None:
        try:
            with closing(self._connect()) as connection:
                self.make(connection)
        except sqlite3.Error:
            return  # a full disk, say: SQLite makes one itself once the log is far too long

    def make(self, connection: sqlite3.Connection) -> None:
        """Bring over the log as far as readers allow."""
        for _ in range(ROUNDS):
            if self._closing.is_set():
                return
            left = _brought_over(connection)
            if left <= LITTLE:
                break
        if left:
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
