"""`recrawl signal`: a hook tells the crawler that a source has changed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from recrawl.cli import run
from recrawl.store.records import Signal, Source
from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)
    with SqliteStore("recrawl.db") as store:
        store.add([Source(url="https://a.example/feed"), Source(url="https://b.example/", title="The second")])


def waiting() -> list[Signal]:
    with SqliteStore("recrawl.db") as store:
        return store.signals()


def test_it_waits_in_the_store_for_the_next_crawler(capsys: pytest.CaptureFixture[str]) -> None:
    before = time.time()
    assert run(["signal", "the second"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("told: 2 ")
    assert "nobody crawls this store now" in said.err
    (signal,) = waiting()
    assert (signal.source, signal.by) == (2, "told")
    assert before <= signal.at <= time.time()


@pytest.mark.parametrize(
    ("text", "at"),
    [("2026-01-31T08:00+00:00", 1769846400.0), ("2026-01-31T08:00Z", 1769846400.0), ("1769846400", 1769846400.0)],
)
def test_it_may_say_when(text: str, at: float) -> None:
    assert run(["signal", "1", "--at", text]) == 0
    (signal,) = waiting()
    assert signal.at == min(at, signal.came)


def test_or_how_long_ago() -> None:
    assert run(["signal", "1", "--at", "5m"]) == 0
    (signal,) = waiting()
    assert signal.came - signal.at == pytest.approx(300.0)


def test_what_is_no_time_and_who_is_no_source_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["signal", "1", "--at", "soon"]) == 2
    assert "--at must be a time ago (5m), a date (2026-01-31T08:00Z) or Unix seconds" in capsys.readouterr().err
    assert run(["signal", "nobody"]) == 2
    assert waiting() == []
