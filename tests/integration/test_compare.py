"""`recrawl compare` on a synthetic web: two policies at once, stopped and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recrawl.cli import run
from recrawl.policies.stored_state import parted
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb import ledger
from recrawl.synthweb.process import Served, running

PROGRAM = [sys.executable, "-c", "from recrawl.cli import main; main()"]
SETTINGS = """
budget = "40/s"
burst = "4"
half_life = "10s"
[politeness]
delay = "20ms"
min_interval = "0s"
[fetch]
allow_private = true
"""


@pytest.fixture(scope="module")
def web() -> Iterator[Served]:
    with running("--sources", 40, "--hosts", 20, "--speed", 3600, "--rate", 1, "--law", "steady") as served:
        yield served


@pytest.fixture
def home(tmp_path: Path, web: Served, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recrawl.toml").write_text(SETTINGS)
    with closing(SqliteStore(tmp_path / "recrawl.db")) as store:
        store.add([Source(url=url) for url in web.urls()])
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The comparison that a command prints last."""
    assert run(["compare", *arguments, "--json"]) == 0
    text = capsys.readouterr().out
    found = json.loads(text if not arguments else text.splitlines()[-1])
    assert found["type"] == "comparison"
    return dict(found)


def test_two_policies_run_at_once_and_are_told_apart(
    home: Path, web: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    early = told(capsys, "round_robin", "miniflux:filled", "--for", "1s", "--swap", "2s")
    assert early["verdict"] == "too early"
    assert early["difference"] is None

    found = told(capsys, "round_robin", "miniflux:filled", "--for", "9s")
    assert found["began"] == early["began"]
    assert 9.0 <= found["seconds"] < 20.0
    assert (found["hosts"], found["swap_s"], found["paired"]) == (20, 2.0, True)
    one, other = found["policies"]
    assert [one["policy"], other["policy"]] == ["round_robin", "miniflux:filled"]
    for side in (one, other):
        assert 0 < side["fetches"] <= found["seconds"] * 20 + 2 + 20  # its half, its burst, and a robots.txt per host
        assert side["captured"] > 0
        assert side["per_fetch"] == pytest.approx(side["captured"] / side["fetches"])
        assert side["new_items"] > 0
    log = web.log()
    assert not ledger.budget_violations(log, 40.0, 4.0, tolerance=5.0)

    assert told(capsys) == found
    assert run(["compare"]) == 0
    text = capsys.readouterr().out
    heads = next(line for line in text.splitlines() if line.lstrip().startswith("policy"))
    rows = [line for line in text.splitlines() if line.startswith(("  round_robin", "  miniflux"))]
    assert len(rows) == 2
    assert {len(row.rstrip()) for row in rows} == {len(heads.rstrip())}
    assert found["why"] in text

    with closing(SqliteStore(home / "recrawl.db")) as store:
        names = {name for each in store.progress() for name in parted(each.belief)}
    assert "miniflux" in names


def test_an_interrupted_comparison_is_shown_and_goes_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*PROGRAM, "compare", "round_robin", "uniform", "--for", "1h", "--swap", "15m", "--json"]
    child = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert child.stdout is not None
    while '"status"' not in child.stdout.readline():
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    stopped = json.loads(out.splitlines()[-1])
    assert stopped["verdict"] == "too early"
    assert stopped["seconds"] > 5.0
    again = told(capsys, "uniform", "round_robin", "--for", f"{stopped['seconds'] + 1:.1f}s")
    assert again["began"] == stopped["began"]
    assert [side["policy"] for side in again["policies"]] == ["round_robin", "uniform"]
    assert again["seconds"] >= stopped["seconds"] + 0.9
    assert sum(side["fetches"] for side in again["policies"]) > sum(side["fetches"] for side in stopped["policies"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["whittle", "miniflux"], "POLICY must be one that can run live"),
        (["miniflux", "miniflux"], "two different policies"),
        (["miniflux"], "name two policies"),
        ([], "no comparison in this store yet"),
        (["miniflux", "azar", "--swap", "10ms"], "--swap must be at least 1s"),
        (["miniflux", "azar", "--for", "soon"], "--for must be a time"),
        (["miniflux", "azar:flor=1"], "flor"),
    ],
)
def test_mistakes_are_named(home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert run(["compare", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_another_pair_or_anew_begins_another(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = told(capsys, "round_robin", "uniform", "--for", "1s", "--swap", "0")
    assert first["swap_s"] == 0.0
    assert "halves never change" in first["caution"]
    assert run(["compare", "round_robin", "uniform", "--for", "9s", "--swap", "2s"]) == 2
    assert "--anew" in capsys.readouterr().err
    assert told(capsys, "round_robin", "uniform", "--for", "1s", "--anew")["began"] > first["began"]
    assert told(capsys, "round_robin", "thompson", "--for", "1s")["policies"][1]["policy"] == "thompson"
