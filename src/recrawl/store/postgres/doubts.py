"""Commits whose end nobody heard: the server went away between doing it and saying so.

Whoever is told of an error gives the same batch again. The server knows what became of every transaction by its number,
so it is asked before anything is written twice.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any

from recrawl.errors import StoreError
from recrawl.store.base import Batch
from recrawl.store.postgres.link import Link

_NUMBER = "SELECT pg_current_xact_id()::text"
_MOST = 64
_FATE = "SELECT pg_xact_status($1::text::xid8)"


class Doubts:
    """Batches that may have been written, with the numbers of their transactions."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._open: dict[int, tuple[Batch, str]] = {}
        self._lock = threading.Lock()

    def settle(self, batch: Batch, write: Callable[[Any], Awaitable[None]]) -> None:
        """Write a batch, unless it was written when it was last tried."""
        if self._was_written(batch):
            return
        number = ""

        async def numbered(connection: Any) -> None:
            nonlocal number
            number = await connection.fetchval(_NUMBER)
            await write(connection)

        try:
            self._link.writing(numbered)
        except BaseException:
            if number:
                with self._lock:
                    self._open[id(batch)] = (batch, number)
                    if len(self._open) > _MOST:  # nobody came back for the oldest
                        del self._open[next(iter(self._open))]
            raise

    def _was_written(self, batch: Batch) -> bool:
        with self._lock:
            doubt = self._open.get(id(batch))
        if doubt is None:
            return False
        fate = self._link.reading(lambda connection: connection.fetchval(_FATE, doubt[1]))
        if fate == "in progress":
            raise StoreError(f"store {self._link.address.name}: the last try is still under way: try again")
        with self._lock:
            self._open.pop(id(batch), None)
        return bool(fate == "committed")
