"""Line 7: `explain` and `status` go by the settings a store is crawled with, not by their own."""

from __future__ import annotations

import pytest

from made_up import NOW, fill
from recrawl.cli import explain, status
from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.crawl.stored_settings import leave_settings
from recrawl.store.sqlite import SqliteStore

DAY_S = 86400.0
MIDNIGHT = NOW - NOW % DAY_S
CRAWLED_WITH = replaced(
    Config(),
    {
        "budget": "3/h",
        "half_life": "2h",
        "politeness.quiet_hours": ["22:00-07:00 UTC"],
        "politeness.min_interval": "9d",
    },
)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: MIDNIGHT)
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        fill(opened, MIDNIGHT)
        leave_settings(opened, CRAWLED_WITH)
        yield opened


def test_explain_goes_by_the_settings_of_the_crawl(store):
    found = explain.looked_at(store, Config(), store.source(2))
    reasons = [each.reason for each in found.held_back]
    assert "quiet hours" in reasons
    assert "fetched less than 9d ago (politeness.min_interval)" in reasons
    assert found.half_life_s == 2 * 3600.0


def test_settings_of_ones_own_do_not_count(store):
    leave_settings(store, Config())
    found = explain.looked_at(store, CRAWLED_WITH, store.source(2))
    assert not any("quiet" in each.reason for each in found.held_back)
    assert status.figures(store, CRAWLED_WITH, MIDNIGHT)["quiet_until"] is None


def test_status_goes_by_them_too(store):
    told = status.figures(store, Config(), MIDNIGHT)
    assert told["quiet_until"] == MIDNIGHT + 7 * 3600.0
    assert told["budget_per_s"] == pytest.approx(3 / 3600)
