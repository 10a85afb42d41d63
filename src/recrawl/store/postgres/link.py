"""Calls from any thread, carried out on an event loop in a thread of its own, over a few connections.

A connection that fails is thrown away and the call ends with an error; the next call makes a new one. A call that takes
longer than it may has its connection cut, because a server that hangs does not answer a request to cancel either.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent import futures
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from recrawl.errors import StoreError
from recrawl.store.postgres.address import Address
from recrawl.store.postgres.rows import decoded, encoded
from recrawl.store.postgres.trouble import SilenceError, is_away, translated

T = TypeVar("T")
Work = Callable[[Any], Awaitable[T]]

_OPEN: weakref.WeakSet[Link] = weakref.WeakSet()
CONNECTIONS = 8
"""At most, besides the one that holds the claim."""
_TRIES = 5
_CONNECTING_S = 10.0
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


class Link:
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
        self._idle: list[Any] = []
        self._closed = False
        self._why = ""
        self._closing = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._thread = threading.Thread(target=self._loop.run_forever, name="recrawl-postgres", daemon=True)
        self._thread.start()
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        _OPEN.add(self)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry it out on the loop, and wait for it."""
        with translated(self.address.name):
            if self._closed:
                work.close()
                raise StoreError(f"store {self.address.name} is closed{self._why}")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            try:
                return future.result()
            except (asyncio.CancelledError, futures.CancelledError):
                raise StoreError(f"store {self.address.name} was closed meanwhile") from None
            except BaseException:
                future.cancel()
                raise

    def reading(self, work: Work[T]) -> T:
        """Look: every statement by itself."""
        return self.run(self._reading(work))

    async def _reading(self, work: Work[T]) -> T:
        async with self._taken() as connection:
            return await work(connection)

    def writing(self, work: Work[T]) -> T:
        """One transaction, tried again when it got into another's way."""
        if self.read_only:
            raise StoreError(f"store {self.address.name} was opened for reading only")
        return self.run(self._writing(work))

    async def _writing(self, work: Work[T]) -> T:
        for left in reversed(range(_TRIES)):
            try:
                async with self._taken() as connection, connection.transaction():
                    return await work(connection)
            except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
                if not left:
                    raise
        raise AssertionError("unreachable")

    def alone(self, work: Work[T]) -> T:
        """Long work, without a limit of time and besides the others."""
        return self.run(self._alone(work))

    async def _alone(self, work: Work[T]) -> T:
        connection = await self._connection()
        try:
            return await work(connection)
        except BaseException:
            connection.terminate()
            raise
        finally:
            self._given_back(connection)

    @asynccontextmanager
    async def _taken(self) -> AsyncIterator[Any]:
        async with self._free:
            connection = await self._connection()
            silent = [False]

            def give_up() -> None:
                silent[0] = True
                connection.terminate()

            timer = self._loop.call_later(self._timeout_s, give_up)
            try:
                yield connection
            except BaseException as error:
                if is_away(error) or not isinstance(error, Exception):
                    connection.terminate()
                if silent[0]:
                    raise SilenceError(f"{self._timeout_s:g}") from error
                raise
            finally:
                timer.cancel()
                self._given_back(connection)

    async def _connection(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await self.connect(**_HASTE)

    def _given_back(self, connection: Any) -> None:
        if self._closed or connection.is_closed():
            connection.terminate()
        else:
            self._idle.append(connection)

    async def connect(self, **settings: str) -> Any:
        """A new connection, the caller's to close."""
        settings |= _SETTINGS | {"search_path": f'"{self.address.schema}"'}
        if self.read_only:
            settings["default_transaction_read_only"] = "on"
        connection = await asyncpg.connect(self.address.dsn, timeout=_CONNECTING_S, server_settings=settings)
        self._connections.add(connection)
        try:
            if connection.get_settings().server_encoding != "UTF8":
                raise StoreError(f"store {self.address.name}: the database must be encoded in UTF8")
            # Arrays of text have a codec of the driver's own that cannot be replaced; those of varchar do not.
            for kind in ("text", "varchar"):
                await connection.set_type_codec(
                    kind, schema="pg_catalog", encoder=encoded, decoder=decoded, format="binary"
                )
        except BaseException:
            connection.terminate()
            raise
        return connection

    def abandon(self) -> None:
        """In a forked child, which has no such thread: let go of the connections without a word to the server.

        They are the parent's, and its claim must not outlive it here.
        """
        self._closed, self._why = True, " in a process forked from the one that opened it: open it again"
        for connection in self._connections:
            wire = None if connection.is_closed() else connection._transport.get_extra_info("socket")
            if wire is not None and wire.fileno() >= 0:
                os.close(wire.fileno())

    def close(self) -> None:
        """Cut every connection and end the thread."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._farewell(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _farewell(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for connection in self._idle:
            with suppress(Exception):
                await connection.close(timeout=2.0)
        self._idle.clear()


def _leave_connections_to_the_parent() -> None:
    for link in list(_OPEN):
        link.abandon()


os.register_at_fork(after_in_child=_leave_connections_to_the_parent)
