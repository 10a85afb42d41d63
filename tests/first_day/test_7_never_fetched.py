"""Line 7: one count of what was never fetched, and nothing invented about it."""

from __future__ import annotations

import json
import math
from random import Random

import pytest

from recrawl.cli import run
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.visits import Intent, Visit
from recrawl.store.records import Batch, Crawl, Progress, Source, VisitUpdate
from recrawl.store.source_terms import EffectiveOptions
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.wiring import make_decider
from visitor import Visitor

NOW = 1_800_000_000.0


@pytest.fixture
def store(tmp_path, monkeypatch):
    """One that answered, two that never did (one was tried), one paused before it was ever fetched."""
    monkeypatch.setattr("time.time", lambda: NOW)
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url=f"https://{name}.example/", kind="feed") for name in ("good", "down", "new")])
        opened.add([Source(url="https://paused.example/", state="paused")])
        answered = Progress(source=1, last=NOW - 60.0, visits=1)
        update = VisitUpdate(crawl=Crawl(source=1, at=NOW - 60.0, outcome="first"), progress=answered)
        opened.commit(Batch(updates=[update]))
        decider = make_decider(Config(), opened, HostSlots(Config().politeness, NOW - 3600.0, Random(0)), NOW - 60.0)
        number = decider.roster.urls.get("https://down.example/")
        source, progress = decider.roster.source(number), decider.progress(number)
        intent = Intent(number, source, progress, "down.example", math.nan, math.nan, EffectiveOptions())
        visit = Visit(intent, NOW - 50.0, FetchResult(None, intent.source.url, requests=1, error="connection refused"))
        opened.commit(Batch(updates=decider.learn_from([visit], NOW - 50.0)))
        yield opened


@pytest.fixture
def told(store, capsys):
    def ask(*arguments):
        capsys.readouterr()
        assert run([*arguments, "--json", "--store", str(store.path)]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def test_everybody_counts_the_active_sources_that_never_answered(store, told, capsys):
    visitor = Visitor(make_app(store, Config(), ManualClock(NOW)), browser=False)
    assert store.count(state="active", never_fetched=True) == 2
    assert told("status")["sources"]["never_fetched"] == 2
    assert told("whatif", "--budget", "9/min")["never_fetched"] == 2
    assert visitor.get("/api/v1/status").json["sources"]["never_fetched"] == 2
    assert run(["whatif", "--budget", "9/min", "--store", str(store.path)]) == 0
    assert "2 sources never fetched yet are left out" in capsys.readouterr().out
    assert run(["status", "--store", str(store.path)]) == 0
    assert "2 never fetched" in capsys.readouterr().out


def test_nothing_is_said_to_be_believed_of_a_source_that_never_answered(store, told):
    visitor = Visitor(make_app(store, Config(), ManualClock(NOW)), browser=False)
    for id in (2, 3):
        listed = next(each for each in told("sources") if each["id"] == id)
        told_by_api = visitor.get(f"/api/v1/sources/{id}").json
        explained = told("explain", str(id))
        for name in ("value", "rate_per_s", "pace_per_day"):
            assert listed[name] is None
            assert explained[name] is None
        assert told_by_api["value"] is told_by_api["pace_per_day"] is told_by_api["index"] is None
        assert explained["pace"] == "not known yet"
    assert [crawl["value"] for crawl in visitor.get("/api/v1/sources/2/crawls").json] == [None]
    tried = next(iter(store.progress([2])))
    assert math.isnan(tried.value)
    assert math.isnan(tried.rate)
    assert not math.isnan(next(iter(store.progress([2]))).held_until)


def test_a_source_without_an_answer_is_due_when_its_hold_ends(store, told):
    listed = {each["id"]: each["due"] for each in told("sources")}
    tried = next(iter(store.progress([2])))
    assert listed[2] == pytest.approx(tried.held_until)
