"""Commits whose end nobody heard: the server went away between doing it and saying so.

Whoever is told of an error gives the same batch again. So every batch is written together with a token of its own, and
under the same token when it is given again: if it is there already, or another try that still runs puts it there, the
batch was written. Numbers of the server's transactions would not do: after a crash they are given anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from recrawl.store.base import Batch
from recrawl.store.postgres.link import Link

# Tokens of commits that were heard of are of no more use.
_TOKEN = """
WITH heard_of AS (DELETE FROM commits WHERE token = ANY($2))
INSERT INTO commits (token) VALUES ($1) ON CONFLICT (token) DO NOTHING RETURNING TRUE
"""
_MOST = 64


class Doubts:
    """Tokens: of batches that may have been written, and of those that certainly were."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._open: dict[int, tuple[Batch, bytes]] = {}
        self._heard: set[bytes] = set()
        self._lock = threading.Lock()

    def settle(self, batch: Batch, write: Callable[[Any], Awaitable[None]]) -> None:
        """Write a batch, unless it was written when it was last tried."""
        with self._lock:
            _, token = self._open.pop(id(batch), (batch, os.urandom(16)))
            heard = list(self._heard)

        async def with_token(connection: Any) -> None:
            if await connection.fetchval(_TOKEN, token, heard):
                await write(connection)

        try:
            self._link.writing(with_token)
        except BaseException:
            self._doubt(batch, token)
            raise
        with self._lock:
            self._heard.difference_update(heard)
            self._heard.add(token)

    def _doubt(self, batch: Batch, token: bytes) -> None:
        with self._lock:
            self._open[id(batch)] = (batch, token)
            if len(self._open) > _MOST:  # nobody came back for the oldest
                del self._open[next(iter(self._open))]
