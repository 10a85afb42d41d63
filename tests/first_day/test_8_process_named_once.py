"""Line 8: whoever crawls a store is named once."""

from __future__ import annotations

import os
import socket

import pytest

from recrawl.errors import StoreError
from recrawl.store.sqlite import SqliteStore
from recrawl.wiring import owner


def test_the_process_is_named_once(tmp_path):
    process = f"process {os.getpid()} on {socket.gethostname()}"
    with SqliteStore(tmp_path / "recrawl.db") as store, SqliteStore(tmp_path / "recrawl.db") as other:
        store.claim(owner(), 1_800_000_000.0)
        assert store.claimed() == f"{process}, since 2027-01-15 08:00:00 UTC"
        with pytest.raises(StoreError) as refused:
            other.claim(owner(), 1_800_000_001.0)
        assert str(refused.value).count(process) == 1


def test_a_name_of_ones_own_is_kept_beside_it(tmp_path):
    with SqliteStore(tmp_path / "recrawl.db") as store:
        store.claim("the news spider", 1_800_000_000.0)
        assert store.claimed().startswith(f"the news spider (process {os.getpid()} on ")
