"""Lists reported to a scheduler: what they say of other keys counts as far as they have been right."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from honest_site import HonestSite, watch
from recrawl import Scheduler
from recrawl.clock import ManualClock
from recrawl.errors import ParameterError
from recrawl.policies import LIVE
from recrawl.units import DAY_S

START = 1_750_000_000.0
SITE = "https://site.example"
LIST = f"{SITE}/sitemap.xml"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[Scheduler]:
    terms: dict[str, Any] = {"budget": "8/d", "burst": 2.0, "objective": "freshness", "max_age": "1000d"}
    with Scheduler(tmp_path / "recrawl.db", clock=clock, **terms) as made:
        yield made


def test_an_announced_change_is_fetched_next_and_another_is_not(scheduler: Scheduler, clock: ManualClock) -> None:
    site = HonestSite(SITE)
    scheduler.add_many({key: {} for key in (*site.modified, LIST)})
    watch(site, scheduler, clock, days=90)
    quiet = [key for key in site.modified if scheduler.progress(key).last < clock.now() - DAY_S]  # type: ignore[operator, union-attr]
    announced, silent = quiet[:2]
    while LIST not in (due := scheduler.due()):
        for key in due:
            site.report(scheduler, key, clock.now())
        clock.advance(3600.0)
    for key in due:
        if key != LIST:
            site.report(scheduler, key, clock.now())
    scheduler.report(
        LIST, sitemap=[(key, clock.now() if key == announced else at) for key, at in site.modified.items()]
    )
    clock.advance(DAY_S / 8)
    assert announced in scheduler.due(limit=1)
    assert silent != announced
    found = scheduler.explain(LIST)
    assert found.as_list is not None
    assert found.as_list.trust > 0.9
    assert found.as_list.right > 0.8
    assert "times out of 100 and tells of" in found.as_list.words
    by = scheduler.explain(announced).named_by
    assert by is not None
    assert (by.name, by.signals) == (LIST, 1)
    assert by.chance > 0.8
    nothing_new = scheduler.explain(silent).named_by
    assert nothing_new is not None
    assert "nothing new" in nothing_new.words


def test_what_was_said_outlives_a_restart(tmp_path: Path, clock: ManualClock) -> None:
    terms: dict[str, Any] = {"budget": "8/d", "burst": 2.0, "objective": "freshness", "max_age": "1000d"}
    site = HonestSite(SITE)
    with Scheduler(tmp_path / "recrawl.db", clock=clock, **terms) as scheduler:
        scheduler.add_many({key: {} for key in (*site.modified, LIST)})
        watch(site, scheduler, clock, days=60)
        before = scheduler.explain(LIST).as_list
    with Scheduler(tmp_path / "recrawl.db", clock=clock, **terms) as scheduler:
        after = scheduler.explain(LIST).as_list
    assert before is not None
    assert after is not None
    assert (after.pages, after.dated) == (before.pages, before.dated)
    assert after.trust == pytest.approx(before.trust, abs=0.05)
    assert after.judged_by == pytest.approx(before.judged_by, rel=0.05)


def test_keys_nobody_added_are_ignored_and_times_may_be_datetimes(scheduler: Scheduler, clock: ManualClock) -> None:
    scheduler.add_many({f"{SITE}/a": {}, f"{SITE}/b": {}, LIST: {}})
    clock.advance(DAY_S)
    assert LIST in scheduler.due() + _rest(scheduler, clock)
    said = datetime.fromtimestamp(clock.now() - 60.0, UTC)
    scheduler.report(LIST, sitemap=[(f"{SITE}/a", said), (f"{SITE}/b", None), ("https://elsewhere.example/", said)])
    found = scheduler.explain(LIST).as_list
    assert found is not None
    assert (found.pages, found.dated) == (2, 1)
    assert "not known yet" in found.words


def _rest(scheduler: Scheduler, clock: ManualClock) -> list[str]:
    clock.advance(DAY_S)
    return scheduler.due()


def test_a_list_may_report_news_of_its_own_too(scheduler: Scheduler, clock: ManualClock) -> None:
    scheduler.add_many({LIST: {}, f"{SITE}/a": {}})
    clock.advance(DAY_S)
    scheduler.due()
    crawl = scheduler.report(LIST, published=[clock.now() - 60.0], sitemap=[(f"{SITE}/a", clock.now())])
    assert (crawl.outcome, crawl.new) == ("first", 1)
    found = scheduler.explain(LIST)
    assert found.as_list is not None
    assert found.value > 0.0


@pytest.mark.parametrize(
    ("sitemap", "named"),
    [
        ("https://a.example/", "sitemap"),
        ([("https://a.example/",)], "sitemap"),
        ([(7, None)], "sitemap"),
        ([("https://a.example/", "yesterday")], "sitemap"),
        ([("https://a.example/", float("nan"))], "sitemap"),
    ],
)
def test_what_is_wrong_with_a_list_is_named(scheduler: Scheduler, clock: ManualClock, sitemap: Any, named: str) -> None:
    scheduler.add(LIST)
    clock.advance(DAY_S)
    assert scheduler.due() == [LIST]
    with pytest.raises(ParameterError) as raised:
        scheduler.report(LIST, sitemap=sitemap)
    assert raised.value.argument == named
    with pytest.raises(ParameterError, match="failed=True"):
        scheduler.report(LIST, failed=True, sitemap=[("https://a.example/", None)])


def test_a_policy_without_use_for_lists_gets_none(tmp_path: Path, clock: ManualClock) -> None:
    assert "miniflux" in LIVE
    with Scheduler(tmp_path / "recrawl.db", clock=clock, policy="miniflux", budget="8/d") as scheduler:
        scheduler.add_many({LIST: {}, f"{SITE}/a": {}})
        clock.advance(DAY_S)
        assert LIST in scheduler.due() + _rest(scheduler, clock)
        assert scheduler.report(LIST, sitemap=[(f"{SITE}/a", clock.now())]).outcome == "first"
        assert scheduler.explain(LIST).as_list is None
