from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from made_up import NOW, fill
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.safety.access import Access
from recrawl.web.safety.credentials import Credentials, hashed
from recrawl.web.safety.hosts import HostList
from visitor import Visitor

PASSWORD, TOKEN = "correct horse battery", "0123456789abcdef-token"


@pytest.fixture(scope="session")
def kept_password() -> str:
    return hashed(PASSWORD)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A full store that nobody changes: filling one takes a hundred transactions."""
    place = tmp_path_factory.mktemp("filled") / "recrawl.db"
    with SqliteStore(place) as store:
        fill(store)
    return place


@pytest.fixture
def filled(store: SqliteStore, filled_once: Path) -> SqliteStore:
    with closing(sqlite3.connect(filled_once)) as full, closing(sqlite3.connect(store.path)) as here:
        full.backup(here)
    return store


@pytest.fixture
def visitor(store: SqliteStore, clock: ManualClock) -> Visitor:
    """Somebody at a browser on this machine, with nothing locked."""
    return Visitor(make_app(store, Config(), clock))


@pytest.fixture
def program(visitor: Visitor) -> Visitor:
    """A program on this machine."""
    return Visitor(visitor.app, browser=False)


@pytest.fixture
def stranger(store: SqliteStore, clock: ManualClock, kept_password: str) -> Visitor:
    """Somebody at a browser who has not logged in where one must."""
    access = Access(HostList("0.0.0.0"), Credentials(kept_password, TOKEN))
    return Visitor(make_app(store, Config(), clock, access=access))
