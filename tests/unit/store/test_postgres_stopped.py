"""A writer that is stopped in the middle of a batch keeps nobody else from its buckets for long."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import postgres
from recrawl.errors import StoreError

pytest.importorskip("psycopg")

from recrawl.store.postgres import PostgresStore, leases
from recrawl.store.postgres.connection import PostgresConnection


def test_its_leases_can_be_taken_over_although_it_held_them_locked() -> None:
    url = postgres.server().url()
    with PostgresStore(url) as stopped, PostgresStore(url) as other:
        epochs = stopped.lease(["bucket/1"], "the one", seconds=0.0)
        locked, woken = threading.Event(), threading.Event()

        def batch(connection: PostgresConnection) -> None:
            leases.check(connection, epochs)
            locked.set()
            woken.wait(30.0)
            connection.run("SELECT 1")

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(stopped._connections.writing, batch)
            assert locked.wait(30.0)
            began = time.monotonic()
            while not other.lease(["bucket/1"], "another", seconds=60.0):
                assert time.monotonic() - began < 30.0
            woken.set()
            with pytest.raises(StoreError, match=r"nothing was heard|closed|terminat"):
                writing.result(10.0)
        with pytest.raises(StoreError, match="another"):
            stopped._connections.writing(lambda connection: leases.check(connection, epochs))
        assert other.renew({"bucket/1": 2}, 60.0) == {"bucket/1"}
