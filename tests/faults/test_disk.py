"""A disk without room, and one that may not be written: fetching stops, says why, and goes on; nothing is lost."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from processes import Place, Stage, stage
from recrawl.cli import run
from recrawl.errors import StoreFullError
from recrawl.store.records import Batch, Crawl, Progress, Source, Version, VisitUpdate
from recrawl.store.sqlite import SqliteStore, database, migrations, wal
from recrawl.store.sqlite.checkpoints import Checkpoints
from recrawl.store.sqlite.repair import check
from until import until

QUIET_S = 2.0
REFUSES, AGAIN = "the store refuses: nothing is fetched until it writes again", "the store writes again"


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A small file system in memory."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("file systems may not be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def stopped(place: Place) -> None:
    """It says that it cannot write, and soon asks the web for nothing more: it would 20 times a second."""
    until(lambda: REFUSES in place.said())
    until(lambda: not place.stage.web.log(time.time() - QUIET_S))


def going_on(place: Place, before: set[int]) -> None:
    """It says that it can write again, and everything from before is there."""
    until(lambda: AGAIN in place.said())
    until(lambda: len(place.ids("crawls")) > len(before))
    assert before <= place.ids("crawls")


def test_a_file_that_may_not_grow_stops_the_fetching_until_it_may(on_stage: Stage, tmp_path: Path) -> None:
    place = Place(on_stage, tmp_path)
    pid = place.started()
    unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    most = max(path.stat().st_size for path in tmp_path.iterdir()) + 8192
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, unlimited[1]))
    stopped(place)
    before = place.ids("crawls")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
    going_on(place, before)
    assert place.ended(pid) == 0
    assert check(place.store) == []


def test_a_full_disk_stops_the_fetching_until_there_is_room(on_stage: Stage, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "8m") as folder:
        place = Place(on_stage, folder)
        place.output = tmp_path / "output.txt"
        pid = place.started()
        ballast = folder / "ballast"
        with ballast.open("wb", buffering=0) as file:
            while _wrote(file.fileno(), bytes(65536)):
                pass
        stopped(place)
        assert "no space left" in place.said()
        before = place.ids("crawls")
        ballast.unlink()
        going_on(place, before)
        assert place.ended(pid) == 0
        assert check(place.store) == []


def test_stopping_while_the_disk_is_full_ends_with_an_error_in_words(on_stage: Stage, tmp_path: Path) -> None:
    place = Place(on_stage, tmp_path)
    pid = place.started()
    unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    most = max(path.stat().st_size for path in tmp_path.iterdir()) + 8192
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, unlimited[1]))
    until(lambda: REFUSES in place.said())
    before = place.ids("crawls")
    assert place.ended(pid, signal.SIGTERM) == 2
    assert "Traceback" not in place.said()
    assert check(place.store) == []
    assert place.ids("crawls") == before


def test_a_read_only_file_system_is_an_error_in_one_line(on_stage: Stage, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "8m") as folder:
        place = Place(on_stage, folder)
        place.output = tmp_path / "output.txt"
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        assert place.ran("run") == 2
        assert "cannot be opened: check that its folder exists and may be written" in place.said()
        assert "Traceback" not in place.said()
        assert place.ran("doctor") == 0
        assert "is sound: 40 sources" in place.said()


def _full(folder: Path) -> Path:
    """Fill a file system to the last byte; what with."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096):
            while _wrote(file.fileno(), bytes(size)):
                pass
    return ballast


def _left_behind(folder: Path, megabytes: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store as an earlier version left it when the disk was full: small, with all that was written in its log."""
    made, path = folder.parent / "made.db", folder / "recrawl.db"
    with monkeypatch.context() as patch, SqliteStore(made) as store:
        patch.setattr(wal, "pace", lambda _, **__: 1 << 30)
        patch.setattr(Checkpoints, "begin", lambda *_: None)
        store.add([Source(url=f"https://a{number}.example/feed") for number in range(50)])
        with store._database.alone() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(megabytes * 10):
            text = str(number) * 10_000
            version = Version(source=1, at=float(number), digest="x", text=text[:100_000])
            crawl = Crawl(source=1, at=float(number), outcome="changed")
            store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=1), version=version)]))
        for end in ("", "-wal"):
            shutil.copy(f"{made}{end}", f"{path}{end}")
    assert path.stat().st_size < 400_000
    assert Path(f"{path}-wal").stat().st_size > megabytes * 500_000
    return path


def _ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = run([*arguments])
    return status, "".join(capsys.readouterr())


def test_a_small_store_with_a_long_log_on_a_full_disk_can_be_read_and_says_what_to_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with mounted(tmp_path / "small", "16m") as folder:
        path = _left_behind(folder, 8, monkeypatch)
        log, ballast = Path(f"{path}-wal"), _full(folder)
        monkeypatch.chdir(folder)
        for command in (["sources", "--limit", "100"], ["status"], ["changes", "1"], ["doctor"]):
            status, said = _ran(capsys, *command)
            assert status == 0, said
            assert "damaged" not in said
        assert len(list(log.parent.glob("*-shm"))) == 0 or Path(f"{path}-shm").stat().st_size < 32768
        status, said = _ran(capsys, "vacuum")
        assert status == 2
        assert "which must not be deleted" in said
        wanted = int(re.search(r"Free ([0-9,]+) KB", said)[1].replace(",", "")) * 1000  # type: ignore[index]
        assert 0 < wanted < log.stat().st_size
        status, said = _ran(capsys, "run", "--once")
        assert status == 2
        assert f"Free {wanted // 1000:,} KB" in said
        assert _ran(capsys, "backup", str(tmp_path / "elsewhere.db"))[0] == 0
        os.truncate(ballast, ballast.stat().st_size - wanted - 4096)
        status, said = _ran(capsys, "vacuum")
        assert status == 0, said
        assert not log.exists()
        assert check(path) == []
        assert shutil.disk_usage(folder).free > 1_000_000
        with SqliteStore(path) as store, SqliteStore(tmp_path / "elsewhere.db") as copy:
            assert store.versions(1) == copy.versions(1)  # of which the last twenty are kept
            assert store.versions(1)[0].at == 79.0
            assert len(store.sources()) == len(copy.sources()) == 50


def test_a_store_that_has_no_room_to_be_upgraded_stays_as_it_was_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with mounted(tmp_path / "small", "16m") as folder:
        path, older = folder / "recrawl.db", migrations.steps()[:12]
        with monkeypatch.context() as patch:
            for module in (migrations, database):
                patch.setattr(module, "steps", lambda: older)
            with SqliteStore(path) as store, store._database.alone() as connection:
                names = "id, source, at, outcome, status, requests, size, new, censored, error"
                numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)"
                connection.execute("PRAGMA foreign_keys = OFF")
                connection.execute(
                    f"{numbers} INSERT INTO crawls ({names}) "
                    "SELECT i, 1, i, 'failed', 0, 1, 0, 0, 0, hex(zeroblob(100)) FROM n"
                )
        before, ballast = path.read_bytes(), _full(folder)
        os.truncate(ballast, ballast.stat().st_size - 1_000_000)
        monkeypatch.chdir(folder)
        for command in (["status"], ["vacuum"]):
            status, said = _ran(capsys, *command)
            assert status == 2
            assert f"no space left to upgrade it from schema 12 to {len(migrations.steps())}; it is as it was" in said
            assert "The older recrawl can still open it" in said
        assert path.read_bytes() == before
        ballast.unlink()
        assert _ran(capsys, "status")[0] == 0
        assert check(path) == []


def test_a_full_disk_gives_the_space_of_the_log_back_where_its_pages_fit_into_the_store(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "8m") as folder, SqliteStore(folder / "recrawl.db") as store:
        store.add([Source(url="https://a.example/feed")])
        fill = cycle((b"a", b"b"))

        def commit() -> None:
            store.write_note("the same", next(fill) * 200_000)

        commit()
        with store._database.alone() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        for _ in range(10):
            commit()
        _full(folder)
        with pytest.raises(StoreFullError):
            commit()
        commit()
        assert Path(f"{store.path}-wal").stat().st_size < 1_000_000


def _wrote(file: int, data: bytes) -> bool:
    try:
        return os.write(file, data) == len(data)
    except OSError:
        return False
