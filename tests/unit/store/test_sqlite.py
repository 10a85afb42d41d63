"""What goes wrong around a file, and what the embedded store says and does about it."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from recrawl.crawl.hold_causes import PUBLISHER, SERVER
from recrawl.errors import StoreError, StoreFullError
from recrawl.store.records import Batch, Crawl, Event, Item, Keep, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore, repair
from recrawl.store.sqlite.commit import MANY
from recrawl.store.sqlite.migrations import steps


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recrawl.db"


def batch(number: int, items: int = 5, summary: str = "") -> Batch:
    """Everything in it carries its number."""
    return Batch(
        updates=[
            VisitUpdate(
                crawl=Crawl(source=1, at=float(number), outcome="new", new=items),
                progress=Progress(source=1, last=float(number), visits=number),
                items=[
                    Item(source=1, key=1000 * number + k, title=f"n{number}", summary=summary, first_seen=1.0)
                    for k in range(items)
                ],
                events=[Event(at=1.0, body=b"%d" % number)] * items,
            )
        ]
    )


def made(path: Path, batches: int = 0, summary: str = "") -> None:
    with SqliteStore(path) as store:
        store.add([Source(url=f"https://{k}.example/", tags=("t",)) for k in range(50)])
        for number in range(1, batches + 1):
            store.commit(batch(number, summary=summary))


def test_what_a_large_commit_refers_to_is_there_and_references_are_looked_after_again(path: Path) -> None:
    made(path)
    with SqliteStore(path) as store:
        store.remove([2])
        many, gone = batch(1, items=MANY), batch(2)
        gone.updates[0].crawl.source = gone.updates[0].progress.source = 2
        for item in gone.updates[0].items:
            item.source = 2
        store.commit(Batch(updates=many.updates + gone.updates))
        assert {item.source for item in store.items(limit=2 * MANY)} == {1}
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        store.remove([1])
        assert store.items() == []


class TestFilesThatAreNotStores:
    def test_a_database_of_another_program_is_refused_untouched(self, path: Path) -> None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE theirs (x)")
        other.commit()
        other.close()
        before = path.read_bytes()
        for read_only in (False, True):
            with pytest.raises(StoreError, match="another program"):
                SqliteStore(path, read_only=read_only)
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize("content", [b"hello", b"\0" * 5000, b"SQLite format 3\0" + b"\xff" * 5000])
    def test_a_file_that_is_no_database_is_refused_untouched(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(StoreError, match="doctor"):
            SqliteStore(path)
        assert path.read_bytes() == content

    def test_an_empty_file_becomes_a_store(self, path: Path) -> None:
        path.touch()
        made(path)
        with SqliteStore(path, read_only=True) as store:
            assert store.count() == 50

    def test_folders_and_missing_places_are_named(self, tmp_path: Path) -> None:
        for wrong, words in (
            (tmp_path, "is a folder"),
            (tmp_path / "no" / "where.db", "no folder"),
            (Path(":memory:"), "is a file"),
        ):
            with pytest.raises(StoreError, match=words):
                SqliteStore(wrong)
        with pytest.raises(StoreError, match="no store at"):
            SqliteStore(tmp_path / "none.db", read_only=True)

    def test_a_path_may_hold_any_letters(self, tmp_path: Path) -> None:
        strange = tmp_path / "a ?mode=memory&x=1 #%20é.db"
        made(strange)
        assert strange.exists()


class TestSchemas:
    def test_a_newer_schema_is_refused_untouched(self, path: Path) -> None:
        made(path)
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA user_version = {len(steps()) + 7}")
        connection.close()
        before = path.read_bytes()
        with pytest.raises(StoreError, match=f"newer recrawl.*{len(steps()) + 7}.*upgrade"):
            SqliteStore(path)
        assert path.read_bytes() == before

    def test_every_older_schema_is_brought_up_to_date(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from recrawl.store.sqlite import database, migrations

        whole = steps()
        for taken in range(1, len(whole)):
            path = tmp_path / f"{taken}.db"
            with monkeypatch.context() as older:
                for module in (database, migrations):
                    older.setattr(module, "steps", lambda taken=taken: whole[:taken])
                SqliteStore(path).close()
            with pytest.raises(StoreError, match="older recrawl"):
                SqliteStore(path, read_only=True)
            made(path, batches=1)
            with SqliteStore(path, read_only=True) as store:
                assert store.count() == 50

    def test_changes_of_an_older_store_are_found_by_what_is_new_in_them(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from recrawl.store.sqlite import database, migrations

        with monkeypatch.context() as older:
            for module in (database, migrations):
                older.setattr(module, "steps", lambda: steps()[:7])
            SqliteStore(path).close()
        written = sqlite3.connect(path)
        columns = 'url, kind, title, tags, headers, "select", state, note, revision'
        written.execute(
            f"INSERT INTO sources ({columns}) VALUES ('https://p/', 'page', 'Prices', '', '', '', '', '', 1)"
        )
        diff = '@@ -1,2 +1,3 @@\n same\n-plums\n+"apples" \\n 3\n+pears\t4\n… and 2 more lines'
        for at, text in ((1.0, ""), (2.0, diff), (3.0, "-gone")):
            row = (1, at, "d", "text", text)
            written.execute("INSERT INTO versions (source, at, digest, text, diff) VALUES (?, ?, ?, ?, ?)", row)
        written.commit()
        written.close()
        with SqliteStore(path) as store:
            gone, changed = store.items(kind="change")
            assert (changed.title, changed.link, changed.first_seen) == ("Prices", "https://p/", 2.0)
            assert changed.summary == '"apples" /n 3\npears\t4'
            assert (gone.summary, store.diffs([gone, changed])) == ("", {gone.id: "-gone", changed.id: diff})
            assert [each.id for each in store.items(text="pears")] == [changed.id]
            assert store.items(text="plums") == []

    def test_what_publishers_asked_for_is_known_in_an_older_store(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from recrawl.store.sqlite import database, migrations

        with monkeypatch.context() as older:
            for module in (database, migrations):
                older.setattr(module, "steps", lambda: steps()[:9])
            SqliteStore(path).close()
        written = sqlite3.connect(path)
        columns = 'url, kind, title, tags, headers, "select", state, note, revision'
        for number, words in enumerate(("the publisher asks to stay away", "the server asks to stay away", "other"), 1):
            row = f"INSERT INTO sources ({columns}) VALUES ('https://p/{number}', 'feed', '', '', '', '', '', '', 1)"
            written.execute(row)
            written.execute("INSERT INTO progress (source, held_until, held_by) VALUES (?, 9, ?)", (number, words))
        written.commit()
        written.close()
        with SqliteStore(path) as store:
            assert [each.held_cause for each in store.progress()] == [PUBLISHER, SERVER, ""]

    def test_crawls_of_an_older_store_are_found_beside_those_since(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from recrawl.store.sqlite import database, migrations

        with monkeypatch.context() as older:
            for module in (database, migrations):
                older.setattr(module, "steps", lambda: steps()[:12])
            with SqliteStore(path) as store:
                store.add([Source(url="https://a/"), Source(url="https://b/")])
        written = sqlite3.connect(path)
        columns = "source, at, outcome, status, requests, size, new, censored, error"
        for at in (1.0, 2.0, 3.0):
            row = (1, at, "new", 200, 1, 10, 0, 0, "")
            written.execute(f"INSERT INTO crawls ({columns}) VALUES ({', '.join('?' * len(row))})", row)
        written.commit()
        written.close()
        with SqliteStore(path) as store:
            store.commit(batch(10))
            store.commit(batch(11))
            assert [each.at for each in store.crawls(source=1)] == [11.0, 10.0, 3.0, 2.0, 1.0]
            assert [each.at for each in store.crawls(source=1, limit=3)] == [11.0, 10.0, 3.0]
            assert [each.at for each in store.crawls(source=1, since=3.0)] == [11.0, 10.0, 3.0]
            assert store.crawls(source=2) == []
            store.remove([1])
            assert store.crawls() == []
            assert store.check() == []

    def test_a_migration_that_fails_leaves_the_old_schema(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from recrawl.store.sqlite import database, migrations

        made(path, batches=1)
        broken = (*steps(), "CREATE TABLE half (x);\nCREATE TABLE half (x);\n")
        with monkeypatch.context() as newer:
            for module in (database, migrations):
                newer.setattr(module, "steps", lambda: broken)
            with pytest.raises(StoreError, match="half"):
                SqliteStore(path)
        with SqliteStore(path) as store:
            assert len(store.items()) == 5

    def test_two_may_make_the_same_store_at_once(self, path: Path) -> None:
        script = f"from recrawl.store.sqlite import SqliteStore; SqliteStore({str(path)!r}).close()"
        both = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
        assert [each.wait(60) for each in both] == [0, 0]


class TestDamage:
    def damaged(self, path: Path) -> None:
        """Overwrite pages in the middle of the file, as a bad disk does."""
        made(path, batches=300, summary="some words to fill pages with " * 5)
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(size // 2 // 4096 * 4096)
            file.write(b"\xa5" * 4096 * 8)

    def test_a_sound_store_has_nothing_wrong_with_it(self, path: Path) -> None:
        made(path, batches=3)
        assert repair.check(path) == []

    def test_damage_is_told_and_what_can_be_read_is_saved(self, path: Path, tmp_path: Path) -> None:
        self.damaged(path)
        assert repair.check(path) != []
        to = tmp_path / "saved.db"
        saved = repair.salvage(path, to)
        assert saved["sources"] > 0
        assert 0.8 * 3100 < saved["items"] + saved["crawls"] + saved["events"] <= 3300
        assert repair.check(to) == []
        with SqliteStore(to) as store:
            assert len(store.items(text="n300", limit=10)) <= 5
            assert store.count(tag="t") == store.count() == len(list(store.progress()))
            store.commit(batch(999))

    def test_reading_into_damage_is_an_error_that_names_the_doctor(self, path: Path) -> None:
        self.damaged(path)
        with SqliteStore(path) as store, pytest.raises(StoreError, match="doctor"):
            store.items(limit=10**6), store.crawls(limit=10**6), store.events(0, 10**6), store.items(text="words")

    def test_a_sound_store_is_saved_whole(self, path: Path, tmp_path: Path) -> None:
        made(path, batches=4)
        with SqliteStore(path) as store:
            store.commit(Batch(shared=b"x"))
            saved = store.salvage(tmp_path / "copy.db")
            assert (saved["sources"], saved["progress"], saved["items"], saved["crawls"]) == (50, 50, 20, 4)
            with SqliteStore(tmp_path / "copy.db") as copy:
                assert copy.items() == store.items()
                assert copy.sources() == store.sources()
                assert copy.revision() == store.revision()
                assert copy.shared() == b"x"
                assert repr(list(copy.progress())) == repr(list(store.progress()))

    def test_nothing_is_overwritten_by_saving(self, path: Path, tmp_path: Path) -> None:
        made(path)
        with pytest.raises(StoreError, match="there already"):
            repair.salvage(path, path)
        with pytest.raises(StoreError, match="no store"):
            repair.salvage(tmp_path / "none", tmp_path / "new")
        (tmp_path / "junk").write_bytes(b"junk" * 1000)
        with pytest.raises(StoreError, match="nothing can be saved"):
            repair.salvage(tmp_path / "junk", tmp_path / "new")


class TestNoSpace:
    def test_a_full_disk_undoes_the_batch_whole_and_the_store_goes_on(self, path: Path) -> None:
        made(path, batches=3)
        with SqliteStore(path) as store:
            with store._database.alone() as connection:
                pages = connection.execute("PRAGMA page_count").fetchone()[0]
                connection.execute(f"PRAGMA max_page_count = {pages + 4}")
            with pytest.raises(StoreFullError, match="no space left"):
                store.commit(batch(4, items=500, summary="x " * 500))
            assert len(store.items()) == len(store.events(0)) == 15
            assert next(store.progress([1])).visits == 3
            with store._database.alone() as connection:
                connection.execute("PRAGMA max_page_count = 1000000")
            store.commit(batch(4, items=500, summary="x " * 500))
            assert len(store.items(limit=1000)) == 515
            assert store.check() == []

    def test_a_limit_on_the_size_of_files_is_survived_too(self, path: Path) -> None:
        made(path, batches=3)
        script = f"""
import resource, signal
from recrawl.errors import StoreError
from recrawl.store.records import *
from recrawl.store.sqlite import SqliteStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SqliteStore({str(path)!r})
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
big = [Item(source=1, key=10**6 + k, summary="x" * 1000, first_seen=1.0) for k in range(5000)]
crawl = Crawl(source=1, at=1.0, outcome="new")
batch = Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=1), items=big)])
try:
    store.commit(batch)
except StoreError:
    assert len(store.items()) == 15, "something was kept"
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    store.commit(batch)
    assert len(store.items(limit=10000)) == 5015
    print("went on")
"""
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
        assert result.stdout == "went on\n", result.stderr
        assert repair.check(path) == []


class TestOtherPrograms:
    def test_a_write_waits_for_a_lock_then_says_so_and_works_later(self, path: Path) -> None:
        made(path)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with SqliteStore(path, timeout_s=0.05) as store:
            with pytest.raises(StoreError, match="another program"):
                store.commit(batch(1))
            assert store.items() == []
            other.execute("ROLLBACK")
            other.close()
            store.commit(batch(1))
            assert len(store.items()) == 5

    def test_a_reader_that_never_ends_does_not_stop_the_writer(self, path: Path) -> None:
        made(path, batches=1)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM items").fetchone()
        with SqliteStore(path, timeout_s=0.05) as store:
            store.commit(batch(2))
            assert len(store.items()) == 10
        assert other.execute("SELECT count(*) FROM items").fetchone() == (5,)
        other.close()

    def test_reading_only_writes_nothing(self, path: Path) -> None:
        made(path, batches=1)
        with SqliteStore(path, read_only=True) as store:
            assert len(store.items(text="n1")) == 5
            assert store.cursor("nobody") == 5
            for write in (
                lambda: store.commit(Batch()),
                lambda: store.claim("me", 0.0),
                lambda: store.add([Source(url="u")]),
            ):
                with pytest.raises(StoreError, match="reading only"):
                    write()

    def test_a_store_whose_folder_cannot_be_written_is_read(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made(path, batches=1)
        monkeypatch.setattr(os, "access", lambda *_: False)
        before = set(path.parent.iterdir())
        with SqliteStore(path, read_only=True) as store:
            assert len(store.items(text="n1")) == 5
            assert set(path.parent.iterdir()) == before

    def test_a_copy_made_by_backup_while_running_is_a_store(self, path: Path, tmp_path: Path) -> None:
        made(path, batches=2)
        with SqliteStore(path) as store:
            store.commit(batch(3))
            source, to = sqlite3.connect(path), sqlite3.connect(tmp_path / "copy.db")
            source.backup(to)
            source.close()
            to.close()
            store.commit(batch(4))
        with SqliteStore(tmp_path / "copy.db") as copy:
            assert len(copy.items()) == 15


class TestClaims:
    def test_one_that_is_refused_takes_no_lock_from_the_other_of_its_process(self, path: Path) -> None:
        """A file that is closed loses its locks: another program then deleted the log under an open store."""
        adding = (
            "from recrawl.store.records import Source; from recrawl.store.sqlite import SqliteStore\n"
            f"with SqliteStore({str(path)!r}) as store: store.add([Source(url='http://other.example/')])"
        )
        with SqliteStore(path) as store:
            store.claim("recrawl run", 0.0)
            store.add([Source(url="http://a.example/")])
            with SqliteStore(path) as second, pytest.raises(StoreError, match="is being crawled"):
                second.claim("recrawl run", 0.0)
            log = Path(f"{path}-wal").stat().st_ino
            subprocess.run([sys.executable, "-c", adding], check=True)
            assert Path(f"{path}-wal").stat().st_ino == log
            store.add([Source(url="http://b.example/")])
            assert {each.url for each in store.sources()} == {
                "http://a.example/",
                "http://b.example/",
                "http://other.example/",
            }
        assert repair.check(path) == []

    def test_a_store_named_by_a_link_has_one_crawler_too(self, path: Path, tmp_path: Path) -> None:
        link = tmp_path / "link.db"
        with SqliteStore(path) as store:
            link.symlink_to(path)
            store.claim("recrawl run", 0.0)
            with SqliteStore(link) as other, pytest.raises(StoreError, match="is being crawled"):
                other.claim("recrawl run", 0.0)

    def test_a_claim_dies_with_its_process(self, path: Path) -> None:
        made(path)
        script = (
            "import sys; from recrawl.store.sqlite import SqliteStore\n"
            f"store = SqliteStore({str(path)!r}); store.claim('recrawl run', 0.0); print('claimed', flush=True)\n"
            "sys.stdin.read()"
        )
        other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert other.stdin is not None
        assert other.stdout is not None
        with other, SqliteStore(path) as store:
            assert other.stdout.readline() == b"claimed\n"
            with pytest.raises(StoreError, match=f"recrawl run.*process {other.pid}"):
                store.claim("second", 1.0)
            other.kill()
            other.wait(30)
            assert store.claimed() is None
            store.claim("second", 2.0)

    def test_a_forked_child_does_not_keep_the_claim(self, path: Path) -> None:
        made(path)
        fork = multiprocessing.get_context("fork")
        ready, end = fork.Event(), fork.Event()
        with SqliteStore(path) as store, SqliteStore(path) as second:
            store.claim("first", 0.0)
            child = fork.Process(target=_wait, args=(ready, end))
            child.start()
            try:
                assert ready.wait(30)
                store._lock.close()
                second.claim("second", 1.0)
            finally:
                end.set()
                child.join(30)


def _wait(ready: object, end: object) -> None:
    ready.set()  # type: ignore[attr-defined]
    end.wait(30)  # type: ignore[attr-defined]


COMMITTING = """
import sys
from recrawl.store.records import *
from recrawl.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
number = next(store.progress([1])).visits
while True:
    number += 1
    items = [Item(source=1, key=1000 * number + k, title=f"n{number}", first_seen=1.0) for k in range(5)]
    progress = Progress(source=1, last=float(number), visits=number)
    crawl = Crawl(source=1, at=float(number), outcome="new")
    events = [Event(at=1.0, body=b"{}")] * 5
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items, events=events)]))
    print(number, flush=True)
"""


def acknowledged_after_kill(path: Path, after: int) -> int:
    """Let a program commit without end and kill it after some batches; the number of the last it reported."""
    with subprocess.Popen([sys.executable, "-c", COMMITTING, str(path)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        said = [program.stdout.readline() for _ in range(after)]
        program.send_signal(signal.SIGKILL)
        said += [line for line in program.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    return int(said[-1])


class TestKill:
    def test_kill_9_at_any_instant_leaves_whole_batches_and_all_that_were_acknowledged(self, path: Path) -> None:
        made(path)
        for after in (1, 2, 3, 5, 8, 13, 21, 34, 4, 7):
            acknowledged = acknowledged_after_kill(path, after)
            with SqliteStore(path) as store:
                assert store.check() == []
                done = next(store.progress([1])).visits
                assert done in (acknowledged, acknowledged + 1)
                assert len(store.items(limit=10**6)) == len(store.events(0, 10**6)) == 5 * done
                assert len(store.crawls(limit=10**6)) == done
                assert len(store.items(text=f"n{done}")) == 5


class TestCrawlsOfASource:
    def test_numbers_that_are_used_again_mislead_nobody(self, path: Path) -> None:
        """All crawls are dropped, so that new ones get the numbers that sources and crawls still name."""
        with SqliteStore(path) as store:
            store.add([Source(url="https://a/"), Source(url="https://b/")])

            def crawled(source: int, at: float) -> None:
                crawl, progress = Crawl(source=source, at=at, outcome="new"), Progress(source=source)
                store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress)]))

            for at in (1.0, 2.0, 3.0):
                crawled(1, at)
            store.vacuum(Keep(items=1.0, crawls=1.0, prices=1.0, versions=1), 100.0)
            assert store.crawls() == store.crawls(source=1) == []
            crawled(1, 101.0)
            crawled(2, 102.0)
            crawled(2, 103.0)
            crawled(1, 104.0)
            assert [each.at for each in store.crawls(source=1)] == [104.0, 101.0]
            assert [each.at for each in store.crawls(source=2)] == [103.0, 102.0]
            store.remove([2])
            assert [each.at for each in store.crawls()] == [104.0, 101.0]

    def test_of_many_the_latest_are_found_and_none_of_others(self, path: Path) -> None:
        with SqliteStore(path) as store:
            store.add([Source(url=f"https://{k}/") for k in range(3)])
            for start in range(0, 300, 20):
                updates = [
                    VisitUpdate(
                        crawl=Crawl(source=1 + at % 3, at=float(at), outcome="unchanged"),
                        progress=Progress(source=1 + at % 3),
                    )
                    for at in range(start, start + 20)
                ]
                store.commit(Batch(updates=updates))
            for source in (1, 2, 3):
                expected = [float(at) for at in reversed(range(300)) if 1 + at % 3 == source]
                assert [each.at for each in store.crawls(source=source, limit=1000)] == expected
                assert [each.at for each in store.crawls(source=source, limit=7)] == expected[:7]


class TestWaysToTheSameAnswer:
    @pytest.mark.parametrize("order", ["last", "due", "value", "failures"])
    def test_sources_are_listed_alike_along_the_index_and_one_by_one(
        self, path: Path, order: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from recrawl.store.sqlite import catalogue

        draw = random.Random(3)
        some = lambda: draw.choice([math.nan, *range(4)])  # noqa: E731
        with SqliteStore(path) as store:
            states = ("active", "active", "active", "paused", "retired")
            made = [Source(url=f"https://{k}.example/", tags=("t",) * (k % 2), state=states[k % 5]) for k in range(60)]
            progress = [
                Progress(source=1 + k, last=draw.choice([None, 1.0, 2.0]), due=some(), value=some(), failures=k % 3)
                for k in range(50)
            ]
            store.add(made)
            store.commit(Batch(progress=progress))
            whole = [source.id for source in store.sources(order=order)]
            back = [source.id for source in store.sources(order=f"-{order}")]
            known = {source.id: source for source in store.sources()}
            for ids, way in ((whole, order), (back, f"-{order}")):
                for choice, kept in (
                    ({}, lambda _: True),
                    ({"tag": "t"}, lambda s: s.tags),
                    ({"state": "active"}, lambda s: s.state == "active"),
                    ({"state": "paused"}, lambda s: s.state == "paused"),
                    ({"state": "active", "tag": "t"}, lambda s: s.state == "active" and s.tags),
                    ({"text": "example"}, lambda _: True),
                    ({"text": "7.e", "state": "active"}, lambda s: "7.e" in s.url and s.state == "active"),
                ):
                    expected = [id for id in ids if kept(known[id])]
                    for few in (1, 2000):
                        monkeypatch.setattr(catalogue, "_FEW", few)
                        found = [s.id for s in store.sources(order=way, limit=7, offset=3, **choice)]
                        assert found == expected[3:10]
                        assert [s.id for s in store.sources(order=way, limit=5, **choice)] == expected[:5]

    @pytest.mark.parametrize("order", ["found", "newest", "relevance"])
    def test_few_and_many_are_searched_alike(self, path: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from recrawl.store.sqlite import search

        made(path, batches=20, summary="common words")
        asked = [{"source": 1}, {"tag": "t"}, {"tag": "none"}, {"source": 1, "since": 0.5, "limit": 7, "offset": 3}]
        with SqliteStore(path, read_only=True) as store:
            few = [store.items(text="common", order=order, **each) for each in asked]  # type: ignore[arg-type]
            monkeypatch.setattr(search, "FEW_SOURCES", -1)
            monkeypatch.setattr(search, "FEW_ITEMS", -1)
            many = [store.items(text="common", order=order, **each) for each in asked]  # type: ignore[arg-type]
        assert few == many
        assert [len(each) for each in few] == [100, 100, 0, 7]
