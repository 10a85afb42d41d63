"""What `recrawl cluster` says, and what it refuses, without a fleet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from recrawl.cli import cluster, run
from recrawl.cli.fleet_display import show, shown
from recrawl.cluster.status import FleetStatus, ShardLine
from recrawl.errors import StoreError

ADDRESS = "postgresql://nobody@127.0.0.1:1/nothing"


def fleet_status(**more: object) -> FleetStatus:
    shards = [
        ShardLine(name="shard-0", state="working", rate=20.0, spend=19.5, own_price=0.21, sources=120, buckets=512),
        ShardLine(name="shard-1", state="waiting", trouble="the server does not answer", buckets=512),
    ]
    known = {
        "at": 1000.0,
        "since": 0.0,
        "leader": "process 7 on here",
        "leader_epoch": 2,
        "budget": 30.0,
        "burst": 30.0,
    }
    return FleetStatus(**known, wanted=2, shards=shards, price=0.2, spend=19.5, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [("status",), ("scale", "2"), ("down",), ("explain", "1"), ("up", "--local")])
def test_a_store_in_a_file_is_refused_with_the_way_out(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cluster", *words, "--store", str(tmp_path / "recrawl.db")]) == 2
    assert "recrawl store copy" in capsys.readouterr().err
    assert not (tmp_path / "recrawl.db").exists()


def test_a_server_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psycopg")
    assert run(["cluster", "status", "--store", ADDRESS]) == 2
    assert "does not answer" in capsys.readouterr().err


def test_scale_wants_to_know_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cluster", "scale", "--store", ADDRESS]) == 2
    assert "how many shards" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["up"], ["status"], ["scale", "3"], ["down"], ["explain", "1"]], ids=str)
def test_without_its_packages_every_command_says_what_to_install(
    words: list[str],
) -> None:
    """In a process of its own: what is imported once is not asked for again."""
    program = "import sys; sys.modules['psycopg'] = None; from recrawl.cli import main; main()"
    command = [sys.executable, "-c", program, "cluster", *words, "--store", ADDRESS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "recrawl[cluster]" in done.stderr


def test_without_ray_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from recrawl.cluster import ray_actors
    from recrawl.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"recrawl\[cluster\]"):
        ray_actors.connect("127.0.0.1")


def test_an_address_where_nobody_is_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(os, "environ", dict(os.environ))  # it sets what Ray is told
    from recrawl.cluster import ray_actors
    from recrawl.errors import FleetError

    with pytest.raises(FleetError, match=r"127\.0\.0\.1:1"):
        ray_actors.connect("127.0.0.1:1")


def test_the_fleet_is_shown_with_its_troubles(capsys: pytest.CaptureFixture[str]) -> None:
    show(fleet_status(), now=1001.0)
    said = capsys.readouterr().out
    assert "1 of 2 shards work" in said
    assert "shard-1: the server does not answer" in said
    assert "no fleet works now" not in said


def test_an_old_board_says_that_it_is_old(capsys: pytest.CaptureFixture[str]) -> None:
    show(fleet_status(), now=1100.0)
    assert "no fleet works now: this is how it was 1m40s ago" in capsys.readouterr().out


def test_where_there_is_no_terminal_a_line_is_written_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with shown() as draw:
        for second in range(25):
            draw(fleet_status(), 1000.0 + second)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_events_on_standard_output_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "recrawl.toml").write_text(f'store = "{ADDRESS}"\n[outlets]\nevents = "-"\n')
    assert run(["cluster", "up", "--local", "--config", str(tmp_path / "recrawl.toml")]) == 2
    assert "standard output" in capsys.readouterr().err


class Answers:
    """A store whose status is what comes next; an error is raised."""

    def __init__(self, *statuses: FleetStatus | StoreError) -> None:
        self.statuses = list(statuses)

    def note(self, name: str) -> bytes:
        status = self.statuses.pop(0)
        if isinstance(status, StoreError):
            raise status
        return msgspec.json.encode(status)


def test_whoever_started_a_fleet_waits_for_its_store_and_coordinator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster.time, "sleep", lambda _: None)
    monkeypatch.setattr(cluster.time, "time", lambda: 1100.0)
    away = StoreError("the server does not answer")
    store = Answers(fleet_status(), away, fleet_status(), fleet_status(ended=True))
    cluster._follow(store, None, cluster.AWAY_S)  # type: ignore[arg-type]
    assert store.statuses == []
    assert "the fleet has ended" in capsys.readouterr().err


def test_whoever_looks_at_a_fleet_is_told_that_it_is_gone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster.time, "time", lambda: 1100.0)
    cluster._follow(Answers(fleet_status()), None)  # type: ignore[arg-type]
    assert "the fleet has ended" in capsys.readouterr().err
