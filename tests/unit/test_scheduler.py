"""Scheduling for people with their own fetcher."""

from __future__ import annotations

import gc
import itertools
import math
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

import recrawl
from recrawl.clock import ManualClock
from recrawl.config import Config, SourceOptions
from recrawl.crawl.hold_release import release
from recrawl.crawl.reports import Answer
from recrawl.errors import ConfigError, ContractError, ParameterError, StoreError, StoreFullError
from recrawl.scheduler import Scheduler
from recrawl.store.opening import open_store
from recrawl.store.records import Batch, Hold, Progress, Signal
from recrawl.wiring import make_decider

KEYS = ["https://a.example/1", "https://a.example/2", "https://b.example/1", "c"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_000.0)


Make = Callable[..., Scheduler]


@pytest.fixture
def make(tmp_path: Path, clock: ManualClock) -> Any:
    opened: list[Scheduler] = []

    def make(**options: Any) -> Scheduler:
        scheduler = Scheduler(tmp_path / "recrawl.db", **{"budget": "1/s", "clock": clock, **options})
        opened.append(scheduler)
        return scheduler

    yield make
    for scheduler in opened:
        with suppress(StoreError):
            scheduler.close()


def fetched(scheduler: Scheduler, clock: ManualClock, seconds: int, **told: Any) -> list[str]:
    """What is handed out within so many seconds, each reported at once."""
    keys = []
    for _ in range(seconds):
        clock.advance(1.0)
        for key in scheduler.due():
            keys.append(key)
            scheduler.report(key, **told)
    return keys


class TestBudget:
    def test_no_more_is_handed_out_than_the_budget_allows(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(budget="2/s", burst=4)
        for number in range(100):
            scheduler.add(f"k{number}")
        handed = 0
        for step in range(1, 200):
            clock.advance(0.1)
            handed += len(scheduler.due())
            assert handed <= 2 * step * 0.1 + 1e-6
        assert handed >= 38

    def test_what_was_not_spent_is_saved_up_to_the_burst(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(budget="1/s", burst=3)
        for key in KEYS:
            scheduler.add(key)
        clock.advance(100.0)
        assert len(scheduler.due()) == 3
        assert scheduler.due() == []

    def test_a_limit_keeps_the_rest_of_the_budget(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(burst=4)
        for key in KEYS:
            scheduler.add(key)
        clock.advance(4.0)
        assert len(scheduler.due(1)) == 1
        assert len(scheduler.due()) == 3

    def test_other_requests_are_paid_from_it(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(burst=2)
        scheduler.add("k")
        clock.advance(2.0)
        assert scheduler.spend()
        assert scheduler.spend()
        assert not scheduler.spend()
        assert scheduler.due() == []

    def test_a_dear_key_is_saved_for(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(burst=1)
        scheduler.add("dear", cost=3.0)
        assert [bool(fetched(scheduler, clock, 1, changed=True)) for _ in range(6)] == [False, False, True] * 2

    def test_it_says_how_long_to_wait(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(budget="1/s", min_interval="5s")
        scheduler.add("k")
        assert scheduler.wait_s() == pytest.approx(1.0)
        clock.advance(1.0)
        assert scheduler.wait_s() == 0.0
        (key,) = scheduler.due()
        clock.advance(1.0)
        assert scheduler.due() == []
        assert scheduler.wait_s() == math.inf, "everything is in flight"
        scheduler.report(key, changed=True)
        assert scheduler.due() == []
        assert scheduler.wait_s() == pytest.approx(5.0)
        clock.advance(5.0)
        assert scheduler.wait_s() == 0.0
        assert scheduler.due() == ["k"]


class TestFlight:
    def test_a_key_comes_back_after_it_is_reported_and_not_before(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        assert scheduler.due() == ["k"]
        assert scheduler.in_flight == 1
        clock.advance(10.0)
        assert scheduler.due() == []
        scheduler.report("k", changed=True)
        clock.advance(10.0)
        assert scheduler.due() == ["k"]

    def test_all_keys_come_back_for_ever(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        for key in KEYS:
            scheduler.add(key)
        assert set(Counter(fetched(scheduler, clock, 60, changed=True))) == set(KEYS)
        assert set(Counter(fetched(scheduler, clock, 60, changed=True))) == set(KEYS)

    def test_a_released_key_is_handed_out_again_at_once(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(burst=2)
        scheduler.add("k")
        clock.advance(2.0)
        assert scheduler.due(1) == ["k"]
        scheduler.release("k")
        assert scheduler.due(1) == ["k"]
        scheduler.release("nobody")

    def test_a_report_is_for_a_key_in_flight(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        with pytest.raises(ContractError, match="'k' was not handed out"):
            scheduler.report("k", changed=True)
        clock.advance(1.0)
        scheduler.due()
        scheduler.report("k", changed=True)
        with pytest.raises(ContractError, match="reported before"):
            scheduler.report("k", changed=True)

    def test_a_key_removed_in_flight_is_gone(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        assert scheduler.remove("k")
        assert not scheduler.remove("k")
        assert "k" not in scheduler
        assert len(scheduler) == 0
        clock.advance(5.0)
        assert scheduler.due() == []
        scheduler.add("k")
        clock.advance(5.0)
        assert scheduler.due() == ["k"]

    def test_a_report_that_cannot_be_understood_leaves_the_key_in_flight(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        with pytest.raises(ParameterError, match="hold"):
            scheduler.report("k", failed=True, hold="soon")
        scheduler.report("k", changed=False)

    def test_of_one_host_only_so_many_are_in_flight(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(budget="100/s", scope="host", parallel_per_host=2)
        for number in range(6):
            scheduler.add(f"https://a.example/{number}")
        clock.advance(1.0)
        flying = [key for _ in range(6) for key in scheduler.due(1)]
        assert len(flying) == 2
        scheduler.report(flying[0], changed=False)
        assert len([key for _ in range(6) for key in scheduler.due(1)]) == 1


class TestLearning:
    def test_a_first_fetch_is_the_baseline(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        crawl = scheduler.report("k", changed=True)
        assert (crawl.outcome, crawl.new, crawl.captured) == ("first", 0, 0.0)

    def test_what_changes_is_fetched_more_often(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(half_life="1m", min_interval="1s")
        for number in range(20):
            scheduler.add(f"k{number}")
        seen: Counter[str] = Counter()
        for second in range(600):
            clock.advance(1.0)
            for key in scheduler.due():
                seen[key] += 1
                scheduler.report(key, digest=str(second // 20) if key in ("k3", "k7") else "same")
        assert {key for key, _ in seen.most_common(2)} == {"k3", "k7"}
        assert min(seen.values()) >= 1

    def test_a_digest_tells_whether_a_page_changed(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        outcomes = []
        for digest in ("a", "a", "b"):
            clock.advance(5.0)
            scheduler.due()
            outcomes.append(scheduler.report("k", digest=digest).outcome)
        assert outcomes == ["first", "unchanged", "changed"]

    def test_of_what_is_listed_only_what_was_not_there_is_new(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(half_life="1h")
        scheduler.add("k")
        began = clock.now()
        for listed, new in ((["a", "b"], 2), (["b", "c"], 1), (["b", "c"], 0)):
            clock.advance(60.0)
            scheduler.due()
            crawl = scheduler.report("k", listed=[(name, began + 60.0) for name in listed])
            assert crawl.new == new
        assert scheduler.progress("k").captured == pytest.approx(2 ** (-60 / 3600))  # type: ignore[union-attr]

    def test_dates_may_be_datetimes(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(half_life="1h")
        scheduler.add("k")
        captured = []
        for moment in (
            clock.now(),
            datetime.fromtimestamp(clock.now() + 90, UTC),
            datetime.fromtimestamp(clock.now() + 150, UTC).replace(tzinfo=None),
            datetime.fromtimestamp(clock.now() + 210, UTC).astimezone(tz=None) + timedelta(0),
        ):
            clock.advance(60.0)
            scheduler.due()
            captured.append(scheduler.report("k", published=[moment]).captured)
        assert captured == pytest.approx([0.0] + [2 ** (-30 / 3600)] * 3)

    def test_undated_items_count_for_what_they_are_worth_on_average(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(half_life="1h")
        scheduler.add("k", importance=3.0)
        for new in (5, 2):
            clock.advance(3600.0)
            scheduler.due()
            crawl = scheduler.report("k", new=new)
        assert crawl.captured == pytest.approx(2 * 3.0 * 0.5 / math.log(2))

    def test_a_source_of_items_stays_one_when_nothing_is_listed(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        for told in ({"listed": [("a", None)]}, {"answer": Answer(status=304, revalidated=True)}):
            clock.advance(60.0)
            scheduler.due()
            crawl = scheduler.report("k", **told)  # type: ignore[arg-type]
        assert (crawl.outcome, crawl.status) == ("unchanged", 304)
        assert scheduler.progress("k").listing  # type: ignore[union-attr]

    def test_validators_are_kept_until_another_version_comes(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        kept = []
        for answer in (
            Answer(status=200, etag='"1"', modified="then"),
            Answer(status=304, revalidated=True),
            Answer(status=200),
        ):
            clock.advance(60.0)
            scheduler.due()
            scheduler.report("k", changed=False, answer=answer)
            progress = scheduler.progress("k")
            assert progress is not None
            kept.append((progress.etag, progress.modified))
        assert kept == [('"1"', "then"), ('"1"', "then"), ("", "")]


class TestTrouble:
    def test_failures_in_a_row_wait_longer_and_longer(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        gaps, last = [], clock.now()
        while len(gaps) < 4:
            clock.advance(1.0)
            if scheduler.due():
                gaps.append(clock.now() - last)
                last = clock.now()
                scheduler.report("k", failed=True, error="no answer")
        assert gaps == [1.0, 60.0, 120.0, 240.0]
        progress = scheduler.progress("k")
        assert progress is not None
        assert (progress.failures, progress.held_by, progress.last) == (4, "no answer", None)

    def test_what_is_not_allowed_waits_longer(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        assert scheduler.report("k", refused=True, error="robots.txt").outcome == "refused"
        assert len(fetched(scheduler, clock, 3599, changed=True)) == 0
        assert len(fetched(scheduler, clock, 1, changed=True)) == 1

    def test_what_is_gone_is_not_asked_for_again(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        scheduler.report("k", gone=True, error="HTTP status 410")
        clock.advance(1e7)
        assert scheduler.due() == []
        source = scheduler.source("k")
        assert source is not None
        assert (source.state, source.note) == ("retired", "HTTP status 410")

    def test_what_is_gone_is_held_by_nothing(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        scheduler.report("k", refused=True, error="robots.txt")
        clock.advance(4000.0)
        assert scheduler.due() == ["k"]
        scheduler.report("k", gone=True, error="HTTP status 410")
        progress = scheduler.progress("k")
        assert progress is not None
        assert (progress.held_until, progress.held_by, progress.held_cause) == (0.0, "", "")

    def test_a_hold_is_kept(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        scheduler.report("k", changed=True, hold="2m")
        assert fetched(scheduler, clock, 119, changed=True) == []
        assert fetched(scheduler, clock, 1, changed=True) == ["k"]

    def test_a_host_that_asks_for_it_is_left_alone(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(scope="host", parallel_per_host=4)
        for key in KEYS[:3]:
            scheduler.add(key)
        assert scheduler.heed(KEYS[0], 429, "90") == 90.0
        assert scheduler.heed("https://elsewhere.example/", 429, "90") == 0.0
        assert set(fetched(scheduler, clock, 89, changed=True)) == {KEYS[2]}
        assert set(fetched(scheduler, clock, 30, changed=True)) == set(KEYS[:3])

    def test_the_only_key_of_a_host_comes_back_when_that_asked_for(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(scope="host")
        scheduler.add("https://a.example/1")
        clock.advance(1.0)
        (key,) = scheduler.due()
        scheduler.heed(key, 429, "600")
        scheduler.report(key, failed=True)
        clock.advance(599.0)
        assert scheduler.due() == []
        clock.advance(2.0)
        assert scheduler.due() == [key]

    def test_whoever_failed_when_its_host_was_held_goes_after_the_others(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(scope="host")
        for key in KEYS[:2]:
            scheduler.add(key)
        clock.advance(2.0)
        (first,) = scheduler.due()
        scheduler.heed(first, 429, "90")
        scheduler.report(first, failed=True)
        assert fetched(scheduler, clock, 89, changed=True) == []
        others = [key for key in KEYS[:2] if key != first]
        assert set(fetched(scheduler, clock, 58, changed=True)) == set(others)
        assert first in fetched(scheduler, clock, 10, changed=True)


class TestRestart:
    def test_a_key_fetched_before_does_not_come_back_early(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(burst=10)
        for key in KEYS:
            scheduler.add(key)
        clock.advance(10.0)
        for key in scheduler.due():
            scheduler.report(key, changed=True, hold="1m" if key == "c" else None)
        scheduler.close()
        again = make(burst=10)
        assert len(again) == len(KEYS)
        assert all(again.progress(key).last == clock.now() for key in KEYS)  # type: ignore[union-attr]
        assert "c" not in fetched(again, clock, 59, changed=True)
        assert "c" in fetched(again, clock, 5, changed=True)

    def test_it_knows_when_the_least_interval_is_over(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(min_interval="60s")
        scheduler.add("k")
        fetched(scheduler, clock, 1, changed=True)
        scheduler.close()
        again = make(min_interval="60s")
        clock.advance(1.0)
        assert again.due() == []
        assert again.wait_s() == pytest.approx(59.0)

    def test_it_is_worth_asking_again_where_nothing_is_known_to_hold_a_key(
        self, make: Make, clock: ManualClock
    ) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler._decider.policy.hold([0], clock.now() + 10.0)
        assert scheduler.due() == []
        assert scheduler.wait_s() == pytest.approx(1.0)
        clock.advance(1.0)
        assert scheduler.wait_s() == 0.0

    def test_it_starts_with_nothing_saved_up(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(burst=10)
        scheduler.add("k")
        clock.advance(100.0)
        scheduler.close()
        assert make(burst=10).due() == []

    def test_holds_of_hosts_stand(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(scope="host")
        scheduler.add(KEYS[0])
        scheduler.heed(KEYS[0], 503, "60")
        scheduler.close()
        again = make(scope="host")
        clock.advance(1.0)
        assert again.due() == []
        assert again.wait_s() == pytest.approx(59.0)
        assert fetched(again, clock, 58, changed=True) == []
        assert fetched(again, clock, 1, changed=True) == KEYS[:1]

    def test_what_was_in_flight_is_as_wanted_as_before(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        scheduler.close()
        again = make()
        clock.advance(1.0)
        assert again.due() == ["k"]

    def test_what_was_learned_stays(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(half_life="1m")
        for number in range(5):
            scheduler.add(f"k{number}")
        for _ in range(100):
            clock.advance(1.0)
            for key in scheduler.due():
                scheduler.report(key, changed=key == "k2")
        before = scheduler.progress("k2")
        scheduler.close()
        again = make(half_life="1m")
        clock.advance(1.0)
        again.report(*again.due(), failed=True)
        after = again.progress("k2")
        assert before is not None
        assert after is not None
        assert after.value == pytest.approx(before.value)
        assert after.visits == before.visits

    def test_two_do_not_work_on_one_store(self, make: Make) -> None:
        make()
        with pytest.raises(StoreError, match="process"):
            make()


class TestCatalogue:
    def test_adding_twice_changes_the_terms(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        assert scheduler.add("k", importance=1.0)
        assert not scheduler.add("k", importance=5.0, half_life="1h", max_age="2h", cost=2.0, tags=["t"], memo="m")
        source = scheduler.source("k")
        assert source is not None
        assert (source.importance, source.half_life, source.max_age) == (5.0, 3600.0, 7200.0)
        assert (source.cost, source.tags, source.memo) == (2.0, ("t",), "m")
        assert len(scheduler) == 1

    def test_many_are_taken_in_at_once_and_what_is_not_said_stays(self, make: Make) -> None:
        scheduler = make()
        scheduler.add("a", importance=3.0, memo="old")
        assert scheduler.add_many({"a": {"memo": "new"}, "b": {"cost": 2}}) == {"a": False, "b": True}
        a, b = scheduler.source("a"), scheduler.source("b")
        assert a is not None
        assert b is not None
        assert (a.importance, a.memo, b.importance, b.cost) == (3.0, "new", 1.0, 2.0)

    def test_a_fixed_interval_is_kept_to(self, make: Make, clock: ManualClock, tmp_path: Path) -> None:
        scheduler = make()
        scheduler.add("a")
        with open_store(str(tmp_path / "recrawl.db")) as store:
            (line,) = store.sources()
            store.edit([msgspec.structs.replace(line, options=SourceOptions(interval=60.0))])
        assert scheduler.refresh()
        assert len(fetched(scheduler, clock, 600, changed=True)) == 10

    @pytest.mark.parametrize("write_every", ["0s", "1h"])
    def test_holds_that_others_release_are_lifted(
        self, make: Make, clock: ManualClock, tmp_path: Path, write_every: str
    ) -> None:
        scheduler = make(scope="host", write_every=write_every)
        scheduler.add("https://a.example/1")
        clock.advance(1.0)
        (key,) = scheduler.due()
        scheduler.heed(key, 429, "3600")
        scheduler.report(key, failed=True)
        clock.advance(10.0)
        scheduler.refresh()  # of what it added itself
        assert not scheduler.refresh()
        with open_store(str(tmp_path / "recrawl.db")) as store:
            held = [(line, Progress(source=line.id)) for line in store.sources()]
            release(store, held, [Hold(host="a.example", until=math.inf)], clock.now(), crawled=True)
        assert scheduler.refresh()
        assert not scheduler.refresh()
        assert scheduler.wait_s() == 0.0
        assert scheduler.due() == [key]
        scheduler.release(key)
        scheduler.flush()
        with open_store(str(tmp_path / "recrawl.db")) as store:
            assert store.holds(clock.now()) == []
            assert [each.held_until for each in store.progress()] == [0.0]

    def test_edits_of_others_are_followed(self, make: Make, clock: ManualClock, tmp_path: Path) -> None:
        scheduler = make()
        scheduler.add("a")
        scheduler.refresh()
        assert not scheduler.refresh()
        with_store = open_store(str(tmp_path / "recrawl.db"))
        line = with_store.source("a")
        assert line is not None
        line.state = "paused"
        with_store.edit([line])
        with_store.close()
        assert scheduler.refresh()
        clock.advance(5.0)
        assert scheduler.due() == []

    @pytest.mark.parametrize(
        ("terms", "named"),
        [
            ({"importance": 0}, "importance"),
            ({"importance": "much"}, "importance"),
            ({"cost": math.inf}, "cost"),
            ({"half_life": "soon"}, "half_life"),
            ({"max_age": -1}, "max_age"),
        ],
    )
    def test_terms_that_make_no_sense_are_named(self, make: Make, terms: dict[str, Any], named: str) -> None:
        scheduler = make()
        with pytest.raises(ParameterError, match=named):
            scheduler.add("k", **terms)
        with pytest.raises(ParameterError, match=named):
            scheduler.check(terms)
        assert len(scheduler) == 0

    def test_unknown_terms_are_refused(self, make: Make) -> None:
        with pytest.raises(ParameterError, match="importanec"):
            make().add_many({"k": {"importanec": 1}})

    @pytest.mark.parametrize("options", [{"budget": "much"}, {"half_life": "x"}, {"objective": "fame"}])
    def test_settings_that_make_no_sense_are_refused(self, make: Make, options: dict[str, str]) -> None:
        with pytest.raises((ParameterError, ConfigError, ValueError)):
            make(**options)


class TestWriting:
    def test_reports_may_wait_to_be_written_together(self, make: Make, clock: ManualClock, tmp_path: Path) -> None:
        scheduler = make(budget="10/s", burst=10, write_every="10s")
        for key in KEYS:
            scheduler.add(key)
        clock.advance(1.0)
        for key in scheduler.due():
            scheduler.report(key, changed=True)
        assert scheduler.unwritten == len(KEYS)
        looking = open_store(str(tmp_path / "recrawl.db"))
        assert looking.crawls() == []
        scheduler.flush()
        assert scheduler.unwritten == 0
        assert len(looking.crawls()) == len(KEYS)
        looking.close()

    def test_what_is_believed_is_known_before_it_is_written_and_written_as_it_is_known(
        self, make: Make, clock: ManualClock, tmp_path: Path
    ) -> None:
        scheduler = make(budget="10/s", burst=10, write_every="1d")
        scheduler.add_many({key: {} for key in KEYS})
        for turn in range(4):
            clock.advance(60.0)
            crawls = [scheduler.report(key, changed=turn % 2 == 0) for key in scheduler.due()]
        assert all(math.isnan(crawl.value) for crawl in crawls)
        known = {key: scheduler.progress(key) for key in KEYS}
        scheduler.flush()
        assert all(math.isfinite(crawl.value) for crawl in crawls)
        looking = open_store(str(tmp_path / "recrawl.db"))
        for line, kept in zip(looking.sources(), looking.progress(), strict=True):
            there = known[line.url]
            assert there is not None
            assert (kept.value, kept.rate, kept.due, kept.last) == (there.value, there.rate, there.due, clock.now())
            assert kept.belief
        looking.close()

    def test_another_thread_may_write_while_reports_come(self, make: Make, clock: ManualClock, tmp_path: Path) -> None:
        scheduler = make(budget="10/s", burst=10, min_interval="0s", write_every="1000d")
        scheduler.add_many({key: {} for key in KEYS})
        done, trouble, reports = threading.Event(), list[BaseException](), 0

        def write() -> None:
            try:
                while not done.is_set():
                    scheduler.flush()
            except BaseException as error:
                trouble.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        for turn in range(300):
            clock.advance(1.0)
            keys = scheduler.due()
            reports += len(keys)
            for key in keys:
                scheduler.report(key, changed=turn % 3 == 0)
        done.set()
        writer.join()
        scheduler.flush()
        assert trouble == []
        looking = open_store(str(tmp_path / "recrawl.db"))
        crawls = looking.crawls(limit=10_000)
        assert len(crawls) == reports > 500
        assert all(math.isfinite(crawl.value) for crawl in crawls)
        assert all(kept.belief and kept.last is not None for kept in looking.progress())
        looking.close()

    def test_they_are_not_lost_when_the_store_is_full(self, clock: ManualClock, tmp_path: Path) -> None:
        store = open_store(str(tmp_path / "recrawl.db"))
        scheduler = Scheduler(store, "1/s", write_every="1h", clock=clock)
        scheduler.add("k")
        clock.advance(1.0)
        scheduler.due()
        scheduler.report("k", changed=True)
        commit = store.commit

        def full(batch: Batch) -> None:
            raise StoreFullError("no space")

        store.commit = full  # type: ignore[method-assign]
        with pytest.raises(StoreFullError):
            scheduler.flush()
        assert scheduler.unwritten == 1
        store.commit = commit  # type: ignore[method-assign]
        scheduler.flush()
        assert scheduler.unwritten == 0
        assert [crawl.outcome for crawl in store.crawls()] == ["first"]
        scheduler.close()

    def test_the_price_history_is_kept(self, make: Make, clock: ManualClock, tmp_path: Path) -> None:
        scheduler = make()
        scheduler.add("k")
        fetched(scheduler, clock, 130, changed=True)
        scheduler.close()
        looking = open_store(str(tmp_path / "recrawl.db"))
        prices = looking.prices(0.0)
        looking.close()
        gaps = [later.at - earlier.at for earlier, later in itertools.pairwise(prices)]
        assert gaps[:5] == [4.0, 8.0, 16.0, 32.0, 60.0]  # soon after the start, then every minute
        assert sum(price.requests for price in prices) == len(range(130))


class TestPolicies:
    @pytest.mark.parametrize("policy", ["round_robin", "miniflux", "azar:filled", "thompson", "nutch_adaptive"])
    def test_any_policy_that_can_run_live_does(self, make: Make, clock: ManualClock, policy: str) -> None:
        scheduler = make(policy=policy)
        scheduler.add_many({key: {} for key in KEYS})
        assert set(fetched(scheduler, clock, 10, published=[clock.now()])) == set(KEYS)
        scheduler.close()
        again = make(policy=policy)
        clock.advance(40 * 86400.0)
        assert set(fetched(again, clock, 10, published=[])) <= set(KEYS)
        assert again._decider.memory.unread == {}

    def test_timers_say_when_a_key_is_due(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(policy="miniflux")
        scheduler.add("k")
        fetched(scheduler, clock, 2, published=[])
        progress = scheduler.progress("k")
        assert progress is not None
        assert progress.due == progress.last + 86400.0
        assert fetched(scheduler, clock, 3600, published=[]) == []
        clock.advance(86400.0 - 3600.0)
        assert fetched(scheduler, clock, 2, published=[]) == ["k"]

    def test_one_that_cannot_is_refused_with_a_list_of_those_that_can(self, make: Make) -> None:
        with pytest.raises(ParameterError, match=r"policy must be one that can run live \(learned_whittle.*'whittle'"):
            make(policy="whittle")

    def test_what_the_learner_knew_is_there_when_it_runs_again(self, make: Make, clock: ManualClock) -> None:
        learner = make()
        learner.add_many({key: {} for key in KEYS})
        fetched(learner, clock, 60, published=[])
        known = learner._decider.policy.beliefs(range(len(KEYS)))
        learner.close()
        timers = make(policy="miniflux")
        assert timers._decider.memory.unread == {"learned_whittle": len(KEYS)}
        clock.advance(86400.0)
        assert set(fetched(timers, clock, 10, published=[])) == set(KEYS)
        timers.close()
        again = make()
        assert not again._decider.memory.unread
        believed = again._decider.policy.beliefs(range(len(KEYS)))
        np.testing.assert_allclose(believed.value, known.value, rtol=1e-6)
        np.testing.assert_allclose(believed.rate, known.rate, rtol=1e-6)


class TestExplaining:
    HALF_LIVES: ClassVar = {"a": None, "b": "2h"}

    def learned(self, make: Make, clock: ManualClock, **options: Any) -> Scheduler:
        """A feed and a page, each with a past, one with a half-life of its own, at a budget that keeps them waiting."""
        scheduler = make(budget="6/hour", half_life="5h", max_age="20d", **options)
        for key, half_life in self.HALF_LIVES.items():
            scheduler.add(f"feed {key}", half_life=half_life, importance=2.0)
            scheduler.add(f"page {key}", half_life=half_life)
        for step in range(200):
            clock.advance(600.0)
            for key in scheduler.due():
                now = clock.now()
                told = {"changed": step % 3 == 0} if key[:4] == "page" else {"published": [now - 300.0, now - 200.0]}
                scheduler.report(key, **told)
        return scheduler

    def test_every_number_is_one_it_is_ranked_by(self, make: Make, clock: ManualClock) -> None:
        scheduler = self.learned(make, clock)
        policy = scheduler._decider.policy
        for key in ("feed a", "page a", "feed b", "page b"):
            number = scheduler._decider.roster.urls.get(key)
            found = scheduler.explain(key)
            assert found.index == policy.index([number], clock.now())[0]
            assert found.price == scheduler.price
            assert found.due == pytest.approx(max(policy.due([number])[0], found.last + 1.0))
            assert found.form == policy.reasons([number], clock.now())[0].form
            if found.worth_at < math.inf:
                just_before, then = (policy.index([number], found.worth_at - early)[0] for early in (60.0, 0.0))
                assert just_before < found.price <= then * (1.0 + 1e-4)

    def test_another_process_finds_the_same_whatever_its_own_settings_say(
        self, make: Make, clock: ManualClock, tmp_path: Path
    ) -> None:
        from recrawl.cli.explain import looked_at

        scheduler = self.learned(make, clock, objective="ephemeral")
        here = {key: scheduler.explain(key) for key in ("feed a", "page a", "feed b", "page b")}
        scheduler.close()
        store = open_store(str(tmp_path / "recrawl.db"))
        config = Config(half_life="12h", max_age="7d")
        for key, mine in here.items():
            source = store.source(key)
            assert source is not None
            found = looked_at(store, config, source, clock.now())
            for name in ("index", "price", "value", "rate_per_s", "crossing_age_s", "due", "pace_per_day"):
                assert getattr(found, name) == pytest.approx(getattr(mine, name), rel=1e-3), (key, name)
            assert (found.half_life_s, found.max_age_s) == (mine.half_life_s, mine.max_age_s)
            assert found.half_life_s == (2 * 3600.0 if key.endswith("b") else 5 * 3600.0)
        store.close()

    def test_a_maximum_age_the_budget_is_short_of_is_stretched_for_whoever_looks(
        self, make: Make, clock: ManualClock, tmp_path: Path
    ) -> None:
        from recrawl.cli.explain import looked_at

        scheduler = make(budget="6/hour", max_age="1d")
        scheduler.add_many({f"page {k}": {} for k in range(200)})
        for _ in range(400):
            clock.advance(600.0)
            for key in scheduler.due():
                scheduler.report(key, changed=False)
        here = scheduler.explain("page 7")
        assert here.max_age_s > 4 * 86400.0
        assert here.floor_at == here.last + here.max_age_s
        scheduler.close()
        store = open_store(str(tmp_path / "recrawl.db"))
        source = store.source("page 7")
        assert source is not None
        found = looked_at(store, Config(), source, clock.now())
        assert (found.max_age_s, found.due) == pytest.approx((here.max_age_s, here.due), rel=1e-3)
        store.close()

    def test_a_new_key_has_no_pace_and_says_when_it_comes(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(budget="1/min")
        scheduler.add("new")
        found = scheduler.explain("new")
        assert found.pace == "not known yet"
        assert math.isnan(found.value)
        assert found.why.startswith("Never fetched yet: new sources are fetched first, within about 2m")
        clock.advance(60.0)
        assert scheduler.due() == ["new"]
        scheduler.report("new", failed=True)
        assert scheduler.explain("new").pace == "not known yet"

    def test_what_is_not_there_is_named(self, make: Make) -> None:
        with pytest.raises(ContractError, match="'nothing' is not in the catalogue"):
            make().explain("nothing")


def test_several_threads_may_ask_and_report(make: Make, clock: ManualClock) -> None:
    scheduler = make(budget="1000/s", burst=1000, policy="round_robin", min_interval="1h", write_every="1h")
    scheduler.add_many({f"k{number}": {} for number in range(400)})
    clock.advance(10.0)
    handed: list[str] = []
    trouble: list[BaseException] = []

    def work() -> None:
        try:
            while keys := scheduler.due(limit=3):
                handed.extend(keys)
                for key in keys:
                    scheduler.report(key, new=1)
                scheduler.flush()
        except BaseException as error:
            trouble.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    assert sorted(handed) == sorted(f"k{number}" for number in range(400))
    assert (scheduler.in_flight, scheduler.unwritten) == (0, 0)


def test_the_collector_of_the_program_around_it_is_left_alone(make: Make, clock: ManualClock) -> None:
    before = gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()
    scheduler = make()
    for key in KEYS:
        scheduler.add(key)
    assert fetched(scheduler, clock, 5)
    scheduler.close()
    assert (gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()) == before


def test_the_collector_is_set_only_by_programs_that_have_a_process_of_their_own() -> None:
    package = Path(str(recrawl.__file__)).parent
    setting = [path for path in package.rglob("*.py") if "collect_rarely()" in path.read_text()]
    assert {str(path.relative_to(package)) for path in setting} == {"wiring.py", "cli/run_.py", "cluster/ray_actors.py"}


class TestWhatACallerMayExpect:
    def test_nothing_is_saved_up_while_it_is_made_however_long_that_takes(
        self, make: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def slow(*args: Any) -> Any:
            clock.advance(5.0)
            return make_decider(*args)

        monkeypatch.setattr("recrawl.scheduler.make_decider", slow)
        scheduler = make(budget="20/s")
        scheduler.add("a")
        assert scheduler.due() == []
        clock.advance(0.0625)
        assert scheduler.due() == ["a"]

    def test_a_key_in_flight_waits_for_its_report(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("a")
        clock.advance(1.0)
        assert scheduler.due() == ["a"]
        found = scheduler.explain("a")
        assert found.why == "Handed out: it waits for its report."
        assert math.isnan(found.due)
        scheduler.release("a")
        assert "Never fetched yet" in scheduler.explain("a").why

    @pytest.mark.parametrize("failure", ["failed", "refused", "gone"])
    @pytest.mark.parametrize(
        "brought", [{"changed": True}, {"digest": "x"}, {"published": [1.0]}, {"new": 1}, {"listed": [("x", None)]}]
    )
    def test_a_failure_that_brought_something_is_refused(
        self, make: Make, clock: ManualClock, failure: str, brought: dict[str, Any]
    ) -> None:
        scheduler = make()
        scheduler.add("a")
        clock.advance(1.0)
        scheduler.due()
        with pytest.raises(ParameterError, match=f"{next(iter(brought))} must be left out with {failure}=True"):
            scheduler.report("a", **brought, **{failure: True})
        assert scheduler.in_flight == 1
        kinds: dict[str, Any] = {"failed": True, failure: True}
        assert scheduler.report("a", **kinds, changed=None, published=[], new=0).outcome in ("failed", "refused")

    @pytest.mark.parametrize("asked", [120, 119.5, np.int64(120), "120"])
    def test_a_wait_may_be_a_number(self, make: Make, asked: Any) -> None:
        scheduler = make()
        scheduler.add("a")
        assert scheduler.heed("a", 429, asked) == 120.0

    def test_a_wait_without_end_is_a_week(self, make: Make) -> None:
        scheduler = make()
        scheduler.add("a")
        assert scheduler.heed("a", 429, 1e300) == 7 * 86400.0


class TestSignals:
    def test_a_key_that_is_said_to_have_changed_is_fetched_sooner(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(budget="10/h", burst=1.0, objective="freshness")
        scheduler.add_many({f"https://a.example/{k}": {} for k in range(20)})
        for _ in range(24 * 14):
            clock.advance(3600.0)
            for key in scheduler.due():
                scheduler.report(key, changed=False)
        assert scheduler.signal("https://a.example/7", at=clock.now() - 60.0) is True
        clock.advance(360.0)
        assert scheduler.due(limit=1) == ["https://a.example/7"]

    def test_what_it_says_is_in_the_store_at_once(self, make: Make, clock: ManualClock) -> None:
        scheduler = make()
        scheduler.add("a")
        clock.advance(1.0)
        (key,) = scheduler.due()
        scheduler.report(key, changed=False)
        before = scheduler._store.shared()
        assert scheduler.signal("a", at=datetime(2023, 1, 1, tzinfo=UTC)) is True
        assert scheduler.unwritten == 0
        assert before is None
        assert scheduler._store.shared() is not None

    def test_a_key_that_is_not_there_is_no_error(self, make: Make) -> None:
        assert make().signal("nobody") is False

    def test_word_that_others_left_in_the_store_is_heard_once(self, make: Make, clock: ManualClock) -> None:
        scheduler = make(write_every="1h")
        scheduler.add("a")
        assert scheduler._store.record_signals([Signal(source=1, at=clock.now(), came=clock.now())]) == 1
        assert scheduler.refresh() is True
        assert scheduler.refresh() is False
        scheduler.flush()
        assert scheduler._store.signals() == []
        assert len(scheduler._decider.policy.lists(clock.now())) == 1

    @pytest.mark.parametrize(
        ("key", "at", "words"), [(7, None, "key"), ("a", "yesterday", "at"), ("a", math.nan, "at"), ("a", 1e18, "at")]
    )
    def test_wrong_words_are_refused_by_name(self, make: Make, key: Any, at: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=f"^{words} must be"):
            make().signal(key, at=at)
