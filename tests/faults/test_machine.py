"""What the machine does to a running crawler: signals, other programs at the store, damage, copies, other versions."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from processes import PATIENCE_S, Place, Stage, crawling, stage
from recrawl.store.sqlite import SqliteStore
from recrawl.store.sqlite.repair import check
from recrawl.synthweb.faults.rules import Rule
from until import until


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


@pytest.fixture
def place(on_stage: Stage, tmp_path: Path) -> Iterator[Place]:
    on_stage.web.set_faults([])
    yield Place(on_stage, tmp_path)
    on_stage.web.set_faults([])


def told(place: Place) -> set[str]:
    return {json.loads(line)["id"] for line in place.events.read_text().splitlines()}


def committed(place: Place) -> set[str]:
    with closing(sqlite3.connect(place.store)) as connection:
        return {json.loads(row[0])["id"] for row in connection.execute("SELECT body FROM events")}


class TestSignals:
    @pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
    def test_one_ends_the_run_with_everything_stored_and_told(self, place: Place, how: signal.Signals) -> None:
        pid = place.started()
        assert place.ended(pid, how) == 0
        assert "stopping: finishing what is under way" in place.said()
        assert check(place.store) == []
        assert told(place) == committed(place)
        with SqliteStore(place.store, read_only=True) as store:
            assert store.claimed() is None
            assert store.shared() is not None

    def test_two_end_it_at_once_and_the_store_stays_sound(self, place: Place) -> None:
        pid = place.started()
        place.stage.web.set_faults([Rule(name="never")])
        before = time.time()
        until(lambda: any(each.end is None for each in place.stage.web.log(before)))
        os.kill(pid, signal.SIGINT)
        until(lambda: "stopping" in place.said())
        assert place.ended(pid, signal.SIGINT) == 130  # one that waited for what is under way would say 0
        assert check(place.store) == []

    def test_a_fresh_process_ends_as_a_forked_one_does(self, place: Place) -> None:
        with crawling(place.folder, "run", "--json") as child:
            until(lambda: place.count("crawls") > 0)
            child.send_signal(signal.SIGTERM)
            assert child.wait(PATIENCE_S) == 0


class TestOthersAtTheStore:
    def test_a_second_crawler_refuses_and_names_the_first(self, place: Place) -> None:
        pid = place.started()
        assert place.ran("run") == 2
        assert f"is being crawled by process {pid} on" in place.said()
        assert "Traceback" not in place.said()
        assert place.ended(pid) == 0

    def test_another_writer_keeps_it_waiting_and_nothing_is_lost(self, place: Place) -> None:
        pid = place.started()
        with closing(sqlite3.connect(place.store, isolation_level=None, timeout=30.0)) as other:
            other.execute("BEGIN IMMEDIATE")
            asked = time.time()
            until(lambda: len(place.stage.web.log(asked)) >= 5)
            kept = place.ids("crawls")
            other.execute("ROLLBACK")
        until(lambda: len(place.ids("crawls")) > len(kept))
        assert kept <= place.ids("crawls")
        assert place.ended(pid) == 0
        assert "refuses" not in place.said()

    def test_a_reader_in_no_hurry_keeps_nobody_waiting(self, place: Place) -> None:
        pid = place.started()
        with closing(sqlite3.connect(f"file:{place.store}?mode=ro", uri=True, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            then = reader.execute("SELECT count(*) FROM crawls").fetchone()[0]
            until(lambda: place.count("crawls") > then + 5)
            assert reader.execute("SELECT count(*) FROM crawls").fetchone()[0] == then
        assert place.ended(pid) == 0

    def test_a_backup_of_a_running_store_is_whole(self, place: Place) -> None:
        pid = place.started()
        for number in range(3):
            before = place.ids("crawls")
            copy = place.folder / f"copy{number}.db"
            assert place.ran("backup", str(copy)) == 0
            assert check(copy) == []
            with closing(sqlite3.connect(copy)) as connection:
                copied = {row[0] for row in connection.execute("SELECT rowid FROM crawls")}
            assert before <= copied <= place.ids("crawls")
            until(lambda seen=copied: len(place.ids("crawls")) > len(seen))  # type: ignore[misc]
        assert place.ran("backup", str(copy)) == 2
        assert place.ended(pid) == 0
        with SqliteStore(copy) as store:
            store.claim("somebody else", time.time())

    def test_the_file_and_its_log_copied_by_hand_open_too(self, place: Place) -> None:
        pid = place.started()
        hand = place.folder / "hand.db"
        before = place.ids("crawls")
        hand.write_bytes(place.store.read_bytes())
        Path(f"{hand}-wal").write_bytes(Path(f"{place.store}-wal").read_bytes())
        assert place.ended(pid) == 0
        assert check(hand) == []
        with closing(sqlite3.connect(hand)) as connection:
            assert before <= {row[0] for row in connection.execute("SELECT rowid FROM crawls")}


class TestFilesThatAreNotAsTheyShouldBe:
    def test_a_store_of_a_newer_version_is_left_alone(self, place: Place) -> None:
        with closing(sqlite3.connect(place.store)) as connection:
            connection.execute("PRAGMA user_version = 999")
        before = place.store.read_bytes()
        assert place.ran("run") == 2
        assert "was written by a newer recrawl (schema 999" in place.said()
        assert "Traceback" not in place.said()
        assert place.store.read_bytes() == before

    def test_a_damaged_store_is_named_looked_over_saved_and_gone_on_with(self, place: Place) -> None:
        assert place.ran("run", "--for", "3s", "--json") == 0
        crawls = place.count("crawls")
        _damage(place.store)
        place.output.unlink()
        assert place.ran("doctor") == 1
        assert "is damaged:" in place.said()
        assert "can be saved: 40 sources, 40 progress," in place.said()
        saved = place.folder / "saved.db"
        assert place.ran("doctor", "--salvage", str(saved)) == 0
        assert f"saved into {saved}: 40 sources" in place.said()
        assert place.ran("doctor", "--store", str(saved)) == 0
        assert f"{saved} is sound: 40 sources" in place.said()
        os.replace(saved, place.store)
        for left in place.folder.glob("recrawl.db-*"):
            left.unlink()
        assert 0 < place.count("crawls") <= crawls
        assert place.ran("run", "--for", "2s", "--json") == 0
        assert "Traceback" not in place.said()

    @pytest.mark.parametrize("start", [b"\0" * 4096, b"<html>not a store</html>"])
    def test_a_file_without_its_beginning_is_refused_in_one_line(self, place: Place, start: bytes) -> None:
        with place.store.open("r+b") as file:
            file.write(start)
        place.output.unlink()
        assert place.ran("run") == 2
        assert "recrawl doctor" in place.said()
        assert place.ran("doctor") == 1
        assert "nothing can be saved" in place.said()
        assert place.ran("doctor", "--salvage", str(place.folder / "saved.db")) == 2
        assert "Traceback" not in place.said()

    def test_an_older_store_is_saved_with_what_it_has(self, place: Place) -> None:
        with closing(sqlite3.connect(place.store)) as connection:
            connection.execute("ALTER TABLE sources DROP COLUMN memo")
            connection.commit()
        assert place.ran("doctor", "--salvage", str(place.folder / "saved.db")) == 0
        with SqliteStore(place.folder / "saved.db") as store:
            assert store.count() == 40

    def test_a_read_only_folder_is_an_error_in_one_line(self, place: Place, tmp_path: Path) -> None:
        if os.geteuid() == 0:
            pytest.skip("the superuser may write everywhere; tests/faults/test_disk.py mounts a read-only file system")
        tmp_path.chmod(0o555)
        place.store.chmod(0o444)
        try:
            assert place.ran("run") == 2
            assert "Traceback" not in place.said()
        finally:
            tmp_path.chmod(0o755)


def test_what_a_crawler_started_dies_with_it(place: Place) -> None:
    place.stage.web.set_faults([Rule(name="many_entries", size=20_000)])
    pid = place.started()
    until(lambda: bool(_children(pid)))
    children = _children(pid)
    place.ended(pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def _children(pid: int) -> list[int]:
    return [int(each) for path in Path(f"/proc/{pid}/task").glob("*/children") for each in path.read_text().split()]


def _damage(path: Path) -> None:
    """Overwrite two pages of crawls, as a bad disk does; first everything in the log goes into the file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'items'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)
