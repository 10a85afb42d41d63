"""A disk without room, and one that may not be written: fetching stops, says why, and goes on; nothing is lost."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from processes import Place, Stage, stage, until
from recrawl.store.sqlite.repair import check

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


def _wrote(file: int, data: bytes) -> bool:
    try:
        return os.write(file, data) == len(data)
    except OSError:
        return False
