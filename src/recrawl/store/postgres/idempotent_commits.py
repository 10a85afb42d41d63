"""Batches that are written once, however often they are tried.

The server may go away between a commit and its answer: the caller gets an error and gives the same batch again. So
every batch is written together with a token of its own, and with the same token when it is given again: if the token is
there already, or another try that still runs writes it, the batch was written. Numbers of the server's transactions
would not do: they are given anew after a crash.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from recrawl.store.postgres.connection import PostgresConnection, PostgresPool
from recrawl.store.records import Batch

# Tokens of commits that were answered are of no more use.
_TOKEN = """
WITH answered AS (DELETE FROM commits WHERE token = ANY($2))
INSERT INTO commits (token) VALUES ($1) ON CONFLICT (token) DO NOTHING RETURNING TRUE
"""
_MOST = 64


class IdempotentCommits:
    """Tokens: of batches that may have been written, and of those that certainly were."""

    def __init__(self, connections: PostgresPool) -> None:
        self._connections = connections
        self._open: dict[int, tuple[Batch, bytes]] = {}
        self._answered: set[bytes] = set()
        self._lock = threading.Lock()

    def write(self, batch: Batch, work: Callable[[PostgresConnection], None]) -> None:
        """Write a batch, unless it was written when it was last tried."""
        with self._lock:
            _, token = self._open.pop(id(batch), (batch, os.urandom(16)))
            answered = list(self._answered)

        def with_token(connection: PostgresConnection) -> None:
            if connection.fetchval(_TOKEN, token, answered):
                work(connection)

        try:
            self._connections.writing(with_token)
        except BaseException:
            self._remember(batch, token)
            raise
        with self._lock:
            self._answered.difference_update(answered)
            self._answered.add(token)

    def _remember(self, batch: Batch, token: bytes) -> None:
        with self._lock:
            self._open[id(batch)] = (batch, token)
            if len(self._open) > _MOST:  # nobody came back for the oldest
                del self._open[next(iter(self._open))]
