"""A copy made while a crawler works is a whole store, which goes on elsewhere with all it knew; the way back, too.

Also: an upgrade with many at the store at once, and the dump and restore of a store in PostgreSQL by its own tools.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import postgres
from recrawl.clock import ManualClock
from recrawl.scheduler import Scheduler
from recrawl.store.opening import open_store
from recrawl.store.sqlite.migrations import steps
from recrawl.store.transfer import copy
from recrawl.synthweb.process import running
from until import until

KEPT = Path(__file__).parents[1] / "earlier_stores"
BEFORE = "layout3-before-readers"
"""Of the version before this one: what an upgrade meets."""
PROGRAM = [sys.executable, "-c", "from recrawl.cli import main; main()"]
SETTINGS = """
budget = "40/s"
[fetch]
allow_private = true
[politeness]
delay = "50ms"
min_interval = "0s"
"""


def recrawl(folder: Path, *arguments: str, home: Path | None = None) -> str:
    environment = os.environ | {"HOME": str(home or folder)}
    done = subprocess.run([*PROGRAM, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(path: Path) -> dict[str, list[Any]]:
    """All of a store that a copy has to have, but who crawls it."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        tables = ("sources", "progress", "items", "crawls", "events", "holds", "tags")
        return {each: store.execute(f"SELECT * FROM {each} ORDER BY 1, 2").fetchall() for each in tables}


def test_a_copy_made_under_load_goes_on_on_another_machine(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "recrawl.toml").write_text(SETTINGS)
    with running("--sources", 60, "--hosts", 12) as web:
        (here / "sources.txt").write_text("\n".join(web.urls()))
        recrawl(here, "import", "sources.txt")
        crawler = subprocess.Popen([*PROGRAM, "run", "--json"], cwd=here, stdout=subprocess.DEVNULL)
        try:
            until(lambda: len(web.log()) > 150)
            recrawl(here, "backup", "copy.db")
            asked = len(web.log())
            until(lambda: len(web.log()) > asked + 20)  # nobody had to wait
        finally:
            crawler.kill()
            crawler.wait()
        shutil.copy(here / "copy.db", there / "recrawl.db")
        shutil.rmtree(here)
        before = rows(there / "recrawl.db")
        assert len(before["crawls"]) > 50
        assert "sound" in recrawl(there, "doctor")
        known = json.loads(recrawl(there, "explain", "1", "--json"))
        recrawl(there, "run", "--for", "2s", "--json")
        after = rows(there / "recrawl.db")
        assert {row[0] for row in before["items"]} <= {row[0] for row in after["items"]}
        assert len(after["crawls"]) > len(before["crawls"])
        assert json.loads(recrawl(there, "explain", "1", "--json"))["visits"] >= known["visits"]


def old(folder: Path) -> tuple[Path, dict[str, Any]]:
    path = folder / "recrawl.db"
    path.write_bytes(lzma.decompress((KEPT / f"{BEFORE}.db.xz").read_bytes()))
    return path, json.loads((KEPT / f"{BEFORE}.json").read_text())


def layout(path: Path) -> int:
    with closing(sqlite3.connect(path)) as store:
        return int(store.execute("PRAGMA user_version").fetchone()[0])


def test_a_store_of_the_version_before_is_upgraded_once_with_many_at_it_and_believes_what_it_did(
    tmp_path: Path,
) -> None:
    path, said = old(tmp_path)
    assert layout(path) < len(steps())
    writers = [["tag", f"{k}", "--add", f"t{k}"] for k in (1, 2, 3)]
    readers = [["status", "--json"], ["sources", "--json"], ["items", "--json"]]
    began = [
        subprocess.Popen([*PROGRAM, *each], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for pair in zip(writers, readers, strict=True)
        for each in pair
    ]
    ended = [(each.communicate(timeout=300)[1], each.returncode) for each in began]
    assert [status for _, status in ended[::2]] == [0, 0, 0], ended
    for words, status in ended[1::2]:  # who only reads may find it as it was, and says what to do
        assert status == 0 or "upgrade" in words or "older" in words, words
        assert "Traceback" not in words
    assert layout(path) == len(steps())
    with open_store(str(path)) as store:
        tags = {line.id: line.tags for line in store.sources()}
        assert all(f"t{k}" in tags[k] for k in (1, 2, 3))
    scheduler = Scheduler(path, "14/d", burst=2.0, objective=said["objective"], clock=ManualClock(said["ends_at"]))
    policy, number = scheduler._decider.policy, scheduler._decider.roster.urls.get
    for url, of in said["sources"].items():
        if of["visits"]:
            (reason,) = policy.reasons([number(url)], said["ends_at"])
            numbers = reason.numbers
            per_day = numbers["items_per_day"] if reason.form == "rhythm" else 86400 * numbers["change_rate_per_s"]
            assert per_day == pytest.approx(of["per_day"], rel=1e-3), url
    scheduler.close()


def test_the_copy_made_before_an_upgrade_is_the_way_back(tmp_path: Path) -> None:
    """An older version refuses what a newer one has opened, so the copy is what it goes on with: it stays as it is."""
    path, said = old(tmp_path)
    kept = tmp_path / "before.db"
    shutil.copy(path, kept)
    recrawl(tmp_path, "tag", "1", "--add", "new")
    assert layout(path) == len(steps())
    assert layout(kept) < len(steps())
    again = tmp_path / "again"
    again.mkdir()
    shutil.copy(kept, again / "recrawl.db")
    recrawl(again, "tag", "1", "--add", "other")  # any number of times
    assert len(rows(again / "recrawl.db")["sources"]) == len(said["sources"])


def test_a_dump_of_postgresql_is_restored_into_another_database(tmp_path: Path) -> None:
    """As docs/operations.md says: `pg_dump --schema` and `pg_restore`, the tools of the server."""
    server, bin = postgres.server(), postgres.binaries()
    assert bin is not None
    path, said = old(tmp_path)
    schema, database = f"dumped{os.getpid()}", f"another{os.getpid()}"
    with open_store(str(path)) as embedded, open_store(server.url(schema=schema)) as moved:
        copy(embedded, moved, lambda what, share: None)
    with open_store(server.url(schema=schema)) as moved, open_store(str(tmp_path / "straight.db")) as embedded:
        copy(moved, embedded, lambda what, share: None)
    place = ["--host", str(server.folder), "--port", str(server.port), "--username", "recrawl"]
    dump = tmp_path / "store.dump"
    command = [str(bin / "pg_dump"), *place, "--format=custom", f"--schema={schema}", f"--file={dump}", "postgres"]
    subprocess.run(command, check=True, capture_output=True)
    server.sql(f"CREATE DATABASE {database}")
    subprocess.run(
        [str(bin / "pg_restore"), *place, f"--dbname={database}", str(dump)], check=True, capture_output=True
    )
    back = tmp_path / "back.db"
    with open_store(server.url(database=database, schema=schema)) as restored, open_store(str(back)) as embedded:
        copy(restored, embedded, lambda what, share: None)
    assert len(rows(back)["sources"]) == len(said["sources"])
    assert rows(back) == rows(tmp_path / "straight.db")
