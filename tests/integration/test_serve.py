"""`recrawl serve` as a person starts it: it says where it is, answers, refuses to stand open, and ends when told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from made_up import fill
from recrawl.cli import run
from recrawl.store.sqlite import SqliteStore

RECRAWL = str(Path(sys.executable).with_name("recrawl"))
PATIENCE_S = 120.0


@contextmanager
def served(folder: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [RECRAWL, "serve", "--port", "0", "--store", str(folder / "recrawl.db"), *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=kept | environment) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[0]
        finally:
            process.kill()


def asked(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE_S) as answer:
        return bytes(answer.read())


def test_it_shows_a_store_and_ends_when_told_although_somebody_listens(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "recrawl.db") as store:
        fill(store)
    with served(tmp_path) as (process, address):
        assert address.startswith("http://127.0.0.1:")
        assert json.loads(asked(address + "api/v1/status"))["sources"]["active"] == 11
        stream = urllib.request.urlopen(address + "api/v1/stream", timeout=PATIENCE_S)
        assert stream.readline().startswith(b"retry")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        stream.close()


def test_of_an_empty_store_it_says_so(tmp_path: Path) -> None:
    """Whoever mistypes a name is shown an empty page, and must not believe that everything is gone."""
    with served(tmp_path) as (process, _):
        assert process.stdout is not None
        assert "has no sources yet" in process.stdout.readline()


def test_a_password_opens_it_to_programs_with_the_token_only(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    with served(tmp_path, "--host", "0.0.0.0", RECRAWL_TOKEN=token) as (_, address):
        place = address.replace("0.0.0.0", "127.0.0.1")
        assert asked(place + "healthz") == b'{"status":"ok"}'
        assert b"Log in" in asked(place)
        assert json.loads(asked(place + "api/v1/status", Authorization=f"Bearer {token}"))["crawler"] is None


def test_it_does_not_stand_open_to_others(tmp_path: Path) -> None:
    arguments = ["serve", "--host", "0.0.0.0", "--port", "0", "--store", str(tmp_path / "a.db")]
    done = subprocess.run([RECRAWL, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert "set a password first" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_said_in_words(tmp_path: Path) -> None:
    with served(tmp_path) as (_, address):
        port = address.rstrip("/").rpartition(":")[2]
        arguments = ["serve", "--port", port, "--store", str(tmp_path / "recrawl.db")]
        done = subprocess.run([RECRAWL, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 2
        assert f"cannot listen on 127.0.0.1, port {port}" in done.stderr


def test_a_password_is_kept_beside_the_store(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from recrawl.cli import recrawl

    arguments = ["serve", "--set-password", "--store", str(tmp_path / "a.db")]
    answer = CliRunner().invoke(recrawl, arguments, input="correct horse\ncorrect horse\n")
    assert answer.exit_code == 0, answer.output
    assert (tmp_path / "a.db.password").read_text().startswith("scrypt$")
    assert run([*arguments, "--help"]) == 0
