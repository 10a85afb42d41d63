"""A run that ends loses nothing that nobody has taken yet: the next one hands it on."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from processes import Place, Stage, stage
from until import until

PASSED_OVER = "an event is passed over"


@pytest.fixture(scope="module")
def on_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


class Hook(ThreadingHTTPServer):
    """A webhook that answers what it is told to, and keeps the ids of what it took."""

    status = 400

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.taken: list[str] = []
        self.asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Answer(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        events = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["events"]
        self.server.asked += 1
        if self.server.status == 200:
            self.server.taken += [event["id"] for event in events]
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def hooked() -> Iterator[Hook]:
    with Hook() as hook:
        thread = Thread(target=hook.serve_forever, daemon=True)
        thread.start()
        yield hook
        hook.shutdown()
        thread.join()


def events_of(place: Place) -> list[str]:
    with closing(sqlite3.connect(f"file:{place.store}?mode=ro", uri=True, timeout=30.0)) as connection:
        return [json.loads(row[0])["id"] for row in connection.execute("SELECT body FROM events ORDER BY seq")]


def test_a_webhook_that_refuses_until_the_end_is_given_everything_by_the_next_run(
    on_stage: Stage, tmp_path: Path
) -> None:
    place = Place(on_stage, tmp_path)
    with hooked() as hook:
        pid = place.started("--webhook", hook.url)
        until(lambda: place.count("events") > 20 and hook.asked > 0)
        before = place.said().count(PASSED_OVER)  # by its five tries, on a machine that takes its time
        assert place.ended(pid, signal.SIGTERM) == 0
        assert place.said().count(PASSED_OVER) == before
        owed = events_of(place)[before:]
        assert len(owed) > 10
        hook.status = 200
        pid = place.started("--webhook", hook.url)
        until(lambda: set(owed) <= set(hook.taken))
        assert place.ended(pid, signal.SIGTERM) == 0
    assert hook.taken[: len(owed)] == owed
    assert place.said().count(PASSED_OVER) == before


def test_a_command_that_fails_until_the_end_is_given_everything_by_the_next_run(
    on_stage: Stage, tmp_path: Path
) -> None:
    place, mended, got = Place(on_stage, tmp_path), tmp_path / "mended", tmp_path / "got"
    script = tmp_path / "script.sh"
    script.write_text(f'#!/bin/sh\ntest -e "{mended}" && cat >> "{got}"\n')
    script.chmod(0o755)
    pid = place.started("--exec", str(script))
    until(lambda: place.count("events") > 5)
    before = place.said().count(PASSED_OVER)
    assert place.ended(pid, signal.SIGTERM) == 0
    assert place.said().count(PASSED_OVER) <= before + 1  # one whose third try was under way
    owed = events_of(place)[place.said().count(PASSED_OVER) :]
    mended.touch()
    pid = place.started("--exec", str(script))
    until(lambda: got.exists() and got.read_text().count("\n") >= len(owed), 120.0)
    assert place.ended(pid, signal.SIGTERM) == 0
    assert [json.loads(line)["id"] for line in got.read_text().splitlines()][: len(owed)] == owed
