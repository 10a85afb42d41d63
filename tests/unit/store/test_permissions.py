"""A store and its copies are for their owner alone, from the first byte."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from recrawl.cli import run
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.store.sqlite.repair import salvage


@pytest.fixture(autouse=True)
def careless() -> Iterator[None]:
    """An owner who lets everybody read what is made."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()}


def filled(path: Path) -> SqliteStore:
    store = SqliteStore(path)
    store.add([Source(url="https://a.example/feed", headers={"Authorization": "secret"})])
    return store


def test_every_file_of_a_store_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "chmod", lambda *_: pytest.fail("it was open to others before"))
    with filled(tmp_path / "recrawl.db") as store:
        store.claim("me", 0.0)
        found = modes(tmp_path)
    assert set(found) == {"recrawl.db", "recrawl.db-wal", "recrawl.db-shm", "recrawl.db.lock"}
    assert set(found.values()) == {0o600}


def test_a_store_behind_a_link_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "recrawl.db").symlink_to(tmp_path / "elsewhere.db")
    with filled(tmp_path / "recrawl.db"):
        assert set(modes(tmp_path).values()) == {0o600}


def test_copies_are_their_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(os, "chmod", lambda *_: pytest.fail("it was open to others before"))
    with filled(tmp_path / "recrawl.db") as store:
        store.backup(tmp_path / "copies" / "backup.db")
    salvage(tmp_path / "recrawl.db", tmp_path / "copies" / "saved.db")
    assert run(["store", "copy", str(tmp_path / "recrawl.db"), str(tmp_path / "copies" / "moved.db")]) == 0
    found = modes(tmp_path / "copies")
    assert {"backup.db", "saved.db", "moved.db"} <= set(found)
    assert set(found.values()) == {0o600}


def test_a_store_that_everybody_may_read_is_closed_when_its_owner_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with filled(path) as first:
        first.claim("me", 0.0)
        for file in tmp_path.iterdir():
            file.chmod(0o644)
        SqliteStore(path, read_only=True).close()
        assert set(modes(tmp_path).values()) == {0o644}
        SqliteStore(path).close()
        assert set(modes(tmp_path).values()) == {0o600}


def test_a_group_that_was_let_in_on_purpose_stays_in(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    filled(path).close()
    path.chmod(0o660)
    with SqliteStore(path) as store:
        store.claim("me", 0.0)
        store.add([Source(url="https://b.example/feed")])
        assert set(modes(tmp_path).values()) == {0o660}


def test_an_export_with_headers_closes_the_file_it_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    filled(tmp_path / "recrawl.db").close()
    (tmp_path / "list.csv").touch(0o644)
    assert run(["export", "list.csv", "--with-headers"]) == 0
    assert modes(tmp_path)["list.csv"] == 0o600
    assert "secret" in (tmp_path / "list.csv").read_text()
