"""A writer that is stopped in the middle of a batch keeps nobody else from its buckets for long."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

import postgres
from recrawl.errors import StoreError

pytest.importorskip("asyncpg")

from recrawl.store.postgres import PostgresStore, ownership


def test_its_leases_can_be_taken_over_although_it_held_them_locked() -> None:
    url = postgres.server().url()
    with PostgresStore(url) as stopped, PostgresStore(url) as other:
        epochs = stopped.lease(["bucket/1"], "the one", seconds=0.0)
        locked, woken = threading.Event(), asyncio.Event()

        async def batch(connection: Any) -> None:
            await ownership.check(connection, epochs)
            locked.set()
            await woken.wait()
            await connection.execute("SELECT 1")

        writing = asyncio.run_coroutine_threadsafe(stopped._link._writing(batch), stopped._link._loop)
        assert locked.wait(30.0)
        began = time.monotonic()
        while not other.lease(["bucket/1"], "another", seconds=60.0):
            assert time.monotonic() - began < 30.0
        stopped._link._loop.call_soon_threadsafe(woken.set)
        with pytest.raises(Exception, match=r"idle|closed|terminat"):
            writing.result(10.0)
        with pytest.raises(StoreError, match="another"):
            stopped._link.writing(lambda connection: ownership.check(connection, epochs))
        assert other.renew({"bucket/1": 2}, 60.0) == {"bucket/1"}
