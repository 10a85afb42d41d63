"""The log beside a store stays in proportion to it, whatever is written and whoever reads."""

from __future__ import annotations

import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from recrawl.store.records import Batch, Crawl, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore, wal
from recrawl.store.sqlite.checkpoints import Checkpoints
from recrawl.store.sqlite.database import Database

PAGE = 4096


def commit(store: SqliteStore, number: int, source: int = 1) -> None:
    progress = Progress(source=source, last=float(number), etag="x" * 200)
    crawl = Crawl(source=source, at=float(number), outcome="unchanged")
    store.commit(Batch(updates=[VisitUpdate(progress=progress, crawl=crawl)]))


def test_the_log_of_a_small_store_is_small(tmp_path: Path) -> None:
    path, longest = tmp_path / "recrawl.db", 0
    with SqliteStore(path) as store:
        store.add([Source(url="https://a.example/feed")])
        for number in range(1000):
            commit(store, number)
            longest = max(longest, wal.length(path))
    assert PAGE * wal.LEAST_PAGES // 2 < longest < 2 * wal.FAR_TOO_LONG * PAGE * wal.LEAST_PAGES
    assert wal.length(path) == 0


def test_a_log_that_grew_behind_a_reader_is_cut_once_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore(path) as store:
        store.add([Source(url="https://a.example/feed")])
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sources").fetchone()
            while wal.length(path) <= wal.FAR_TOO_LONG * PAGE * wal.LEAST_PAGES:
                commit(store, 0)
        for number in range(64):
            commit(store, number)
        if thread := store._database._checkpoints._thread:
            thread.join()  # a checkpoint that is just being made puts it off to the next commit
        commit(store, 64)
        assert wal.length(path) < 2 * PAGE * wal.LEAST_PAGES


def test_a_log_that_was_left_long_is_emptied_when_the_store_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore(path) as first:
        first.add([Source(url="https://a.example/feed")])
        with first._database.alone() as connection:
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(40):
            commit(first, number)
        with first._database.alone() as connection:
            connection.execute("CREATE TABLE ballast AS SELECT zeroblob(12000000) AS it")
        assert wal.length(path) > 12_000_000
        with SqliteStore(path) as second:
            assert wal.length(path) < 1_000_000
            assert len(second.crawls(limit=1000)) == 40


def test_the_log_of_a_large_store_may_be_longer(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "large.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE ballast AS SELECT zeroblob(20000000) AS it")
        assert 4_500_000 < wal.pace(connection) < 5_500_000
        pages = connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0]
        assert 1000 < pages // wal.FAR_TOO_LONG < 1300


def test_the_log_of_a_store_opened_without_room_to_share_it_is_no_longer_than_that_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore(path) as store:
        store.add([Source(url="https://a.example/feed")])
    opened, no_room = Database._connect, iter([True])

    def connect(self: Database) -> sqlite3.Connection:
        if next(no_room, False):
            raise sqlite3.OperationalError
        return opened(self)

    monkeypatch.setattr(Database, "_connect", connect)
    monkeypatch.setattr(wal, "no_room_to_share", lambda *_: True)
    with monkeypatch.context() as patch:
        patch.setattr(wal, "empty", lambda _: False)
        store = SqliteStore(path)
    with store:
        longest = 0
        for number in range(1000):
            commit(store, number)
            longest = max(longest, wal.length(path))
        assert 0 < longest <= PAGE * wal.LEAST_PAGES


def test_how_much_of_the_log_is_in_use_is_what_sqlite_says(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore(path) as store, closing(sqlite3.connect(path)) as other:
        store.add([Source(url="https://a.example/feed")])
        for batches in (1, 30, 7, 2):
            for number in range(batches):
                commit(store, number)
            pages = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
            assert wal.used(path) == pages * (PAGE + 24) > 0
    assert wal.used(path) == 0


def test_commits_without_a_pause_let_the_log_begin_anew(tmp_path: Path) -> None:
    path, before, rounds = tmp_path / "recrawl.db", 0, 0
    with SqliteStore(path) as store:
        store.add([Source(url="https://a.example/feed")])
        for number in range(20_000):
            commit(store, number)
            used = wal.used(path)
            rounds, before = rounds + (used < before), used
            if rounds == 2:
                break
    assert rounds == 2, "the log has only grown"


def test_a_log_behind_a_reader_is_looked_at_again_only_when_it_has_grown(tmp_path: Path) -> None:
    made: list[bool] = []

    class Counting(Checkpoints):
        def make(self, connection: sqlite3.Connection, *, whole: bool = False) -> None:
            made.append(whole)

    checkpoints = Counting(lambda: sqlite3.connect(tmp_path / "any.db"), nullcontext())
    for used in (50, 101, 150, 200, 203, 90, 120, 304):
        checkpoints.begin(used, allowed=100)
        checkpoints._thread and checkpoints._thread.join()
    assert made == [False, True, False, True]  # at 101, 203, 120 (the log had begun anew), 304
