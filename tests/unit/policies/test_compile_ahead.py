"""Compiling in another process: who begins it, who ends it, and what happens if it does not get through."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
import structlog

from recrawl.kernels import interpreted
from recrawl.policies import compile_ahead
from recrawl.policies.learned_whittle import LearnedWhittle

NOW = 1.8e9
FIRST_START = """
import sys
from recrawl import Scheduler
from recrawl.policies.compile_ahead import compiling
with Scheduler(sys.argv[1], budget="10/s", burst=10) as scheduler:
    scheduler.add("https://a.example/feed")
    while not (keys := scheduler.due()):
        pass
    crawl = scheduler.report(keys[0], published=[1.7e9, 1.8e9])
    print(keys[0], compiling.under_way, compiling.done)
"""
A_CHILD = (
    "import sys; from recrawl.policies import compile_ahead as c; print(1, flush=True); c._end_with(int(sys.argv[1]))"
)
A_PARENT = f"""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {A_CHILD!r}, str(os.getpid())], start_new_session=True)
"""


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[compile_ahead.Compiling]:
    """Of a process that takes nothing for compiled; everything is, if it looks again."""
    compile_ahead.warm_up(LearnedWhittle(), NOW)
    fresh = compile_ahead.Compiling()
    monkeypatch.setattr(compile_ahead, "compiling", fresh)
    monkeypatch.setattr(interpreted, "cache_folder", lambda: tmp_path)
    fresh.patient()
    interpreted._missing.update(interpreted._functions(interpreted._Patient))
    yield fresh
    fresh.finish()


def seen_through(compiling: compile_ahead.Compiling) -> list[str]:
    """Begin it and wait for its end; what was logged."""
    with structlog.testing.capture_logs() as logged:
        compiling.begin(LearnedWhittle(), NOW)
        assert compiling._thread is not None
        compiling._thread.join()
    return [each["event"] for each in logged]


def test_nobody_is_asked_to_compile_what_is_there(compiling: compile_ahead.Compiling) -> None:
    interpreted.look_again()
    compiling.begin(LearnedWhittle(), NOW)
    assert not compiling.under_way


def test_once_it_is_compiled_nothing_is_interpreted(
    compiling: compile_ahead.Compiling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_ahead, "CHILD", "pass")
    assert seen_through(compiling) == []
    assert compiling.done
    assert not compiling.under_way
    assert not interpreted._functions(interpreted._Patient)


def test_the_process_that_compiles_takes_nothing_from_the_folder_it_is_started_in(
    compiling: compile_ahead.Compiling, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "structlog.py").write_text("open('taken', 'w').close()")
    monkeypatch.chdir(tmp_path)
    assert seen_through(compiling) == []
    assert not (tmp_path / "taken").exists()


def test_who_looks_on_while_it_ends_does_not_begin_again(
    compiling: compile_ahead.Compiling, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, onlooker = interpreted.end, threading.Thread(target=compiling.patient)

    def ended() -> None:
        end()
        onlooker.start()
        onlooker.join(0.2)

    monkeypatch.setattr(interpreted, "end", ended)
    compiling.finish()
    onlooker.join()
    assert not interpreted._functions(interpreted._Patient)
    monkeypatch.setattr(interpreted, "end", end)


def test_a_process_that_is_killed_is_started_again_and_then_done_without(
    compiling: compile_ahead.Compiling, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    killed = f"import os; open({str(tmp_path / 'tries')!r}, 'a').write('x'); os.kill(os.getpid(), 9)"
    monkeypatch.setattr(compile_ahead, "CHILD", killed)
    assert len(seen_through(compiling)) == 1
    assert (tmp_path / "tries").read_text() == "x" * compile_ahead.TRIES
    assert compiling.done


def test_who_begins_while_another_program_has_it_compiled_waits_for_that(
    compiling: compile_ahead.Compiling, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked, lock = threading.Event(), fcntl.flock

    def watched(file: IO[str], how: int) -> None:
        try:
            lock(file, how)
        except BlockingIOError:
            blocked.set()
            raise

    monkeypatch.setattr(fcntl, "flock", watched)
    monkeypatch.setattr(compile_ahead, "CHILD", "raise SystemExit(1)")
    with structlog.testing.capture_logs() as logged:
        with compile_ahead._one_at_a_time() as waited:
            assert not waited
            compiling.begin(LearnedWhittle(), NOW)
            assert compiling._thread is not None
            assert blocked.wait(60.0)
            assert compiling.under_way
        compiling._thread.join()
    assert compiling.done
    assert logged == []  # nothing was started that could fail


def test_with_very_many_sources_the_compiler_is_waited_for(compiling: compile_ahead.Compiling) -> None:
    compile_ahead.prepare(LearnedWhittle(), NOW, compile_ahead.INTERPRETED_UP_TO + 1)
    assert compiling.done
    assert not interpreted.missing()


def test_who_only_looks_has_it_compiled_if_it_looks_for_long(
    compiling: compile_ahead.Compiling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_ahead, "CHILD", "pass")
    compile_ahead.go_on(LearnedWhittle(), NOW, 1)
    assert not compiling.under_way
    compiling.stay()
    compile_ahead.go_on(LearnedWhittle(), NOW, 1)
    assert compiling._thread is not None
    compiling._thread.join()
    assert compiling.done


def test_the_process_that_compiles_ends_with_the_one_it_works_for() -> None:
    with subprocess.Popen([sys.executable, "-c", A_PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "1\n"
        parent.kill()
        parent.stdout.read()  # ends when the last process that writes there has


def test_with_nothing_compiled_a_key_is_handed_out_before_the_compiling_is_done(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", FIRST_START, str(tmp_path / "recrawl.db")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["https://a.example/feed", "True", "False"]
    assert ran.stderr == ""
