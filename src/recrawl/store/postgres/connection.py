"""The connections of a store, used by any thread.

A connection that fails is thrown away and the call ends with an error; the next call makes a new one. A call that takes
longer than it may has its connection cut, because a server that hangs does not answer a request to cancel either.
"""

from __future__ import annotations

import math
import os
import select
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

from recrawl.errors import StoreError
from recrawl.store.postgres.address import Address
from recrawl.store.postgres.error_messages import translated
from recrawl.store.postgres.rows import ADAPTERS

T = TypeVar("T")

_OPEN: weakref.WeakSet[PostgresPool] = weakref.WeakSet()
CONNECTIONS = 8
"""At most, besides the one that holds the claim."""
_TRIES = 5
_COLLISIONS = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
_CONNECTING_S = 10
# So that the server notices within a minute when a client's machine or the network is gone, and lets go of its locks.
_SETTINGS = {
    "application_name": "recrawl",
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "4",
    "jit": "off",
}
# A writer that is stopped in the middle of a batch keeps its rows locked, and whoever takes over its buckets waiting.
_HASTE = {"idle_in_transaction_session_timeout": "5s"}
_SET = "SELECT set_config(name, value, FALSE) FROM unnest($1::varchar[], $2::varchar[]) AS given (name, value)"


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """One of them. Whatever waits for the server after `deadline`, in monotonic time, fails with TimeoutError."""

    deadline = math.inf

    def wait(self, gen: PQGen[T], *given: Any, **more: Any) -> T:
        """For the server's answer."""
        return super().wait(self._in_time(gen), *given, **more)

    def _in_time(self, gen: PQGen[T]) -> PQGen[T]:
        """The driver asks at least every tenth of a second."""
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if time.monotonic() > self.deadline:
                    self.close()
                    raise TimeoutError
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def run(self, statement: str, *given: Any) -> None:
        """One statement, or a script of several."""
        self.execute(statement, given or None)

    def fetch(self, statement: str, *given: Any) -> list[tuple[Any, ...]]:
        """All rows."""
        return self.execute(statement, given, binary=True).fetchall()

    def fetchrow(self, statement: str, *given: Any) -> Any:
        """The first row."""
        return self.execute(statement, given, binary=True).fetchone()

    def fetchval(self, statement: str, *given: Any) -> Any:
        """The first value of the first row."""
        row = self.fetchrow(statement, *given)
        return row[0] if row else None

    @property
    def lost(self) -> bool:
        """Whether it is closed, by the other side too: then there is a farewell to read."""
        with self.lock, suppress(psycopg.OperationalError):
            look = select.poll()
            look.register(self.fileno(), select.POLLIN)
            while look.poll(0):
                self.pgconn.consume_input()
        return self.closed


class PostgresPool:
    """The connections of one store.

    Parameters
        address: where
        read_only: the server refuses every write
        timeout_s: after this long without an answer a call fails
    """

    def __init__(self, address: Address, *, read_only: bool, timeout_s: float) -> None:
        self.address = address
        self.read_only = read_only
        self._timeout_s = timeout_s
        self._idle: list[PostgresConnection] = []
        self._closed = ""
        self._lock = threading.Lock()
        self._free = threading.Semaphore(CONNECTIONS)
        self._connections: weakref.WeakSet[PostgresConnection] = weakref.WeakSet()
        _OPEN.add(self)

    @contextmanager
    def open(self) -> Iterator[None]:
        """For whoever has a connection: errors in words, and none for one that is closed."""
        with translated(self.address.name):
            self._refuse_if_closed()
            yield

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreError(f"store {self.address.name} is {self._closed}")

    def reading(self, work: Callable[[PostgresConnection], T]) -> T:
        """Look: every statement by itself."""
        with self.open(), self._free, self._taken(self._timeout_s) as connection:
            return work(connection)

    def writing(self, work: Callable[[PostgresConnection], T]) -> T:
        """One transaction, tried again when it got into another's way."""
        if self.read_only:
            raise StoreError(f"store {self.address.name} was opened for reading only")
        with self.open():
            for left in reversed(range(_TRIES)):
                suppressed = suppress(*_COLLISIONS if left else ())
                with suppressed, self._free, self._taken(self._timeout_s) as connection, connection.transaction():
                    return work(connection)
        raise AssertionError("unreachable")

    def alone(self, work: Callable[[PostgresConnection], T]) -> T:
        """Long work, without a limit of time and besides the others."""
        with self.open(), self._taken(math.inf) as connection:
            return work(connection)

    @contextmanager
    def _taken(self, seconds: float) -> Iterator[PostgresConnection]:
        try:
            while (connection := self._idle.pop()).lost:
                pass
        except IndexError:
            connection = self.connect(**_HASTE)
        try:
            with self._lock:  # it may have been closed while this call waited for its turn or for the server
                self._refuse_if_closed()
                connection.deadline = time.monotonic() + seconds
            yield connection
        except TimeoutError as error:
            silent = f": the server did not answer in {seconds:g} s. The next call tries again"
            what = " was closed meanwhile" if self._closed else silent
            raise StoreError(f"store {self.address.name}{what}") from error
        finally:
            with self._lock:
                if self._closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                    connection.close()
                else:
                    self._idle.append(connection)

    def connect(self, **settings: str) -> PostgresConnection:
        """A new connection, the caller's to close."""
        settings |= _SETTINGS | {"search_path": f'"{self.address.schema}"'}
        if self.read_only:
            settings["default_transaction_read_only"] = "on"
        connection = PostgresConnection.connect(
            self.address.dsn,
            autocommit=True,
            context=ADAPTERS,
            cursor_factory=psycopg.RawCursor,
            connect_timeout=_CONNECTING_S,
        )
        try:
            if connection.info.parameter_status("server_encoding") != "UTF8":
                raise StoreError(f"store {self.address.name}: the database must be encoded in UTF8")
            connection.fetch(_SET, list(settings), list(settings.values()))
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if not self._closed:
                self._connections.add(connection)
                return connection
        connection.close()
        raise StoreError(f"store {self.address.name} is {self._closed}")

    def close(self) -> None:
        """Close every connection; calls under way fail."""
        with self._lock:
            if self._closed:
                return
            self._closed = "closed"
            for connection in self._connections:
                connection.deadline = -math.inf
            for connection in self._idle:
                connection.close()
            self._idle.clear()


def _leave_connections_to_the_parent() -> None:
    """Without a word to the server: a claim of the parent must not outlive it in a forked child."""
    for connections in list(_OPEN):
        connections._closed = "closed in a process forked from the one that opened it: open it again"
        for connection in connections._connections:
            if not connection.closed:
                os.close(connection.fileno())


os.register_at_fork(after_in_child=_leave_connections_to_the_parent)
