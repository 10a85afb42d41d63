"""Line 5: when a source is due, why not now, the price and the budget are the same whoever is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from made_up import NOW, fill
from recrawl.cli import run
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.crawl import live_budget
from recrawl.crawl.stored_settings import leave_settings
from recrawl.store.records import Batch, Price
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from visitor import Visitor


class TickingClock(ManualClock):
    """A clock by which some time passes between any two looks at it, as by any real one."""

    def now(self) -> float:
        self.advance(0.001)
        return super().now()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.time", lambda: NOW)
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        fill(opened)
        yield opened


@pytest.fixture
def told(store: SqliteStore, capsys: pytest.CaptureFixture[str]):
    """What a command says as JSON."""

    def ask(*arguments: str):
        capsys.readouterr()
        assert run([*arguments, "--json", "--store", str(store.path)]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def web(store: SqliteStore, clock: ManualClock, config: Config | None = None) -> Visitor:
    return Visitor(make_app(store, config or Config(), clock))


def test_no_page_speaks_of_quiet_hours_where_none_are_set(store):
    visitor = web(store, TickingClock(NOW))
    for path in ("/", "/sources", *(f"/sources/{each.id}" for each in store.sources())):
        assert "quiet hours" not in visitor.get(path).text
    for each in store.sources():
        told = visitor.get(f"/api/v1/explain/{each.id}").json
        assert not any("quiet" in hold["reason"] for hold in told["held_back"])
        assert visitor.get(f"/api/v1/sources/{each.id}").json["due"] == pytest.approx(told["due"] or NOW, abs=1.0) or (
            told["due"] is None
        )


def test_commands_pages_and_api_say_the_same_due_time(store, told):
    visitor = web(store, ManualClock(NOW))
    listed = {each["id"]: each["due"] for each in told("sources")}
    assert sum(due is not None for due in listed.values()) > 5
    for id, due in listed.items():
        assert due == told("explain", str(id))["due"]
        assert due == visitor.get(f"/api/v1/sources/{id}").json["due"]
        assert due == visitor.get(f"/api/v1/explain/{id}").json["due"]
    soonest = [each["due"] for each in told("status")["next"]]
    assert soonest == sorted(due for due in listed.values() if due is not None)[: len(soonest)]


def test_a_stored_due_time_of_another_price_is_not_shown(store, told):
    before = {each["id"]: each["due"] for each in told("sources")}
    price = Price(at=NOW, price=1e-6, budget=1.0, requests=1, captured=0.0)
    store.commit(Batch(price=price))
    after = {each["id"]: each["due"] for each in told("sources")}
    assert after[1] < before[1]
    assert after[1] == told("explain", "1")["due"]


def test_the_budget_of_the_last_run_is_the_present_one_for_everybody(store, told):
    leave_settings(store, replaced(Config(), {"budget": "7/min"}))
    visitor = web(store, ManualClock(NOW), replaced(Config(), {"budget": "99/min"}))
    expected = pytest.approx(7 / 60)
    assert told("status")["budget_per_s"] == expected
    assert told("whatif", "--budget", "20/min")["budgets"][0]["budget_per_s"] == expected
    assert visitor.get("/api/v1/status").json["budget"] == expected
    assert visitor.get("/api/v1/whatif?budget=20/min").json["now"]["budget"] == expected


def test_a_budget_changed_while_running_is_the_present_one_for_everybody(store, told):
    leave_settings(store, replaced(Config(), {"budget": "7/min"}))
    live_budget.begin(store, "process 7 on vm", 7 / 60)
    live_budget.ask(store, live_budget.read(store), 0.5, NOW)
    assert told("status")["budget_per_s"] == 0.5
    assert told("whatif", "--budget", "20/min")["budgets"][0]["budget_per_s"] == 0.5
    assert web(store, ManualClock(NOW)).get("/api/v1/status").json["budget"] == 0.5


def test_whatif_says_the_same_on_every_face(store, told):
    command = told("whatif", "--budget", "100/day")["budgets"]
    page = web(store, ManualClock(NOW)).get("/api/v1/whatif?budget=100/day").json
    for one, other in zip(command, (page["now"], page["then"]), strict=True):
        assert one["budget_per_s"] == pytest.approx(other["budget"])
        assert one["price"] == pytest.approx(other["price"], rel=1e-2)
        assert one["captured_per_hour"] == pytest.approx(3600 * other["captured"], rel=1e-2)
