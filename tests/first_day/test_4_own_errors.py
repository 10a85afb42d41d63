"""A `Scheduler(...)` that raises leaves the store free, and a wrong argument is recrawl's own error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recrawl
from recrawl.clock import ManualClock

NOW = 1_794_000_000.0
WRONG_OPTIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"objective": "news"}, "objective", "ephemeral"),
    ({"objective": "fresh"}, "objective", "did you mean 'freshness'"),
    ({"objective": None}, "objective", "ephemeral"),
    ({"policy": None}, "policy", "learned_whittle"),
    ({"policy": "learned-whitle"}, "policy", "did you mean 'learned_whittle'"),
    ({"policy": "miniflux:fild"}, "policy", "did you mean 'filled'"),
    ({"scope": "site"}, "scope", "host"),
    ({"scope": "hosts"}, "scope", "did you mean 'host'"),
    ({"parallel_per_host": 0}, "parallel_per_host", "from 1"),
    ({"clock": 3}, "clock", "now()"),
    ({"parallel_per_host": 1.5}, "parallel_per_host", "whole"),
    ({"budget": -1}, "budget", "60/min"),
    ({"budget": math.nan}, "budget", "60/min"),
    ({"budget": "fast"}, "budget", "60/min"),
    ({"budget": None}, "budget", "60/min"),
    ({"burst": 0.5}, "burst", "at least 1"),
    ({"half_life": "6 parsecs"}, "half_life", "6h"),
    ({"half_life": "6 hous"}, "half_life", "did you mean 'hour'"),
    ({"half_life": -1}, "half_life", "6h"),
    ({"half_life": 0}, "half_life", "longer than nothing"),
    ({"max_age": math.nan}, "max_age", "6h"),
    ({"min_interval": None}, "min_interval", "6h"),
    ({"write_every": "often"}, "write_every", "6h"),
    ({"store": 42}, "store", "a path"),
]
WRONG_CALLS: list[tuple[str, Callable[[recrawl.Scheduler], object], str]] = [
    ("key", lambda s: s.add(42), "text"),  # type: ignore[arg-type]
    ("key", lambda s: s.add(""), "not empty"),
    ("keys", lambda s: s.add_many(["https://a.example"]), "a dictionary"),  # type: ignore[arg-type]
    ("terms", lambda s: s.add_many({"b": {"importence": 2.0}}), "did you mean 'importance'"),
    ("terms", lambda s: s.add_many({"b": None}), "a dictionary"),  # type: ignore[dict-item]
    ("importance", lambda s: s.add("b", importance=math.nan), "a finite number"),
    ("half_life", lambda s: s.add("b", half_life="6 parsecs"), "6h"),
    ("tags", lambda s: s.add("b", tags="news"), "a list"),
    ("new", lambda s: s.report("a", new=-3), "at least 0"),
    ("new", lambda s: s.report("a", new=2.7), "whole"),  # type: ignore[arg-type]
    ("changed", lambda s: s.report("a", changed="no"), "True or False"),  # type: ignore[arg-type]
    ("failed", lambda s: s.report("a", failed="yes"), "True or False"),  # type: ignore[arg-type]
    ("published", lambda s: s.report("a", published=[math.nan]), "Unix seconds"),
    ("published", lambda s: s.report("a", published=[NOW, 1e300]), "Unix seconds"),
    ("published", lambda s: s.report("a", published=[NOW * 1000.0]), "milliseconds?"),
    ("published", lambda s: s.report("a", published=["today"]), "a datetime"),  # type: ignore[list-item]
    ("published", lambda s: s.report("a", published=NOW), "a list"),  # type: ignore[arg-type]
    ("listed", lambda s: s.report("a", listed=["guid"]), "a pair"),  # type: ignore[list-item]
    ("listed", lambda s: s.report("a", listed=[(1, None)]), "a name that is text"),  # type: ignore[list-item]
    ("listed", lambda s: s.report("a", listed=[("guid", math.inf)]), "Unix seconds"),
    ("hold", lambda s: s.report("a", hold="a while"), "6h"),
    ("digest", lambda s: s.report("a", digest=b"1"), "text"),  # type: ignore[arg-type]
    ("answer", lambda s: s.report("a", answer=200), "recrawl.Answer"),  # type: ignore[arg-type]
    ("limit", lambda s: s.due(limit=-1), "at least 0"),
    ("limit", lambda s: s.due(limit=1.5), "whole"),  # type: ignore[arg-type]
    ("requests", lambda s: s.wait_s(math.nan), "a finite number"),
    ("requests", lambda s: s.spend(-1), ">= 0"),
    ("status", lambda s: s.heed("a", "busy"), "whole"),  # type: ignore[arg-type]
    ("retry_after", lambda s: s.heed("a", 503, b"120"), "text of a header"),  # type: ignore[arg-type]
    ("retry_after", lambda s: s.heed("a", 503, -1), "seconds"),
    ("retry_after", lambda s: s.heed("a", 503, True), "seconds"),
]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[recrawl.Scheduler]:
    with recrawl.Scheduler(tmp_path / "s.db", "10/s", policy="round_robin", clock=clock) as made:
        made.add("a")
        clock.advance(1.0)
        assert made.due() == ["a"]
        yield made


@pytest.mark.parametrize(("options", "argument", "words"), WRONG_OPTIONS, ids=lambda value: str(value)[:40])
def test_a_scheduler_that_raises_leaves_the_store_free(
    tmp_path: Path, options: dict[str, Any], argument: str, words: str
) -> None:
    place = tmp_path / "s.db"
    with pytest.raises(recrawl.ParameterError) as told:
        recrawl.Scheduler(**{"store": place, **options})
    assert told.value.argument.endswith(argument) or argument in str(told.value)
    assert words in str(told.value)
    recrawl.Scheduler(place, policy="round_robin").close()


def test_a_failure_after_the_store_was_claimed_leaves_it_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "s.db"
    with monkeypatch.context() as broken:
        broken.setattr("recrawl.scheduler.make_decider", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            recrawl.Scheduler(place, policy="round_robin")
    recrawl.Scheduler(place, policy="round_robin").close()


@pytest.mark.parametrize(("argument", "call", "words"), WRONG_CALLS, ids=[f"{n}-{w}" for n, _, w in WRONG_CALLS])
def test_a_wrong_argument_is_named_and_changes_nothing(
    scheduler: recrawl.Scheduler,
    clock: ManualClock,
    argument: str,
    call: Callable[[recrawl.Scheduler], object],
    words: str,
) -> None:
    with pytest.raises(recrawl.ParameterError) as told:
        call(scheduler)
    assert told.value.argument == argument
    assert words in str(told.value)
    assert len(scheduler) == 1
    assert scheduler.in_flight == 1
    assert scheduler.report("a", new=1).outcome == "first"
    clock.advance(10.0)
    assert scheduler.due() == ["a"]


def test_a_key_not_in_flight_cannot_be_reported(scheduler: recrawl.Scheduler) -> None:
    scheduler.report("a", changed=False)
    with pytest.raises(recrawl.ContractError, match="'a' was not handed out"):
        scheduler.report("a", changed=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.due(),
        lambda s: s.add("b"),
        lambda s: s.add_many({}),
        lambda s: s.remove("a"),
        lambda s: s.report("a", new=1),
        lambda s: s.release("a"),
        lambda s: s.explain("a"),
        lambda s: s.source("a"),
        lambda s: s.progress("a"),
        lambda s: s.refresh(),
        lambda s: s.wait_s(),
        lambda s: s.spend(),
        lambda s: s.heed("a", 503),
        lambda s: s.held_s("a"),
        lambda s: s.flush(),
    ],
    ids=lambda call: call.__code__.co_names[0],
)
def test_a_closed_scheduler_says_so_and_may_be_closed_again(
    scheduler: recrawl.Scheduler, call: Callable[[recrawl.Scheduler], object]
) -> None:
    scheduler.close()
    scheduler.close()
    with pytest.raises(recrawl.ContractError, match="closed"):
        call(scheduler)
    assert (len(scheduler), scheduler.in_flight, scheduler.unwritten, "a" in scheduler) == (1, 0, 0, True)


def test_times_numbers_and_moments_are_taken_as_people_have_them(
    scheduler: recrawl.Scheduler, clock: ManualClock
) -> None:
    scheduler.add("b", half_life="6h", max_age=timedelta(days=2), importance=np.float32(2), cost=np.int64(1))
    found = scheduler.source("b")
    assert found is not None
    assert (found.half_life, found.max_age, found.importance, found.cost) == (21600.0, 172800.0, 2.0, 1.0)
    moments = [
        np.float64(NOW - 60),
        datetime.fromtimestamp(NOW - 50, UTC),
        datetime(2026, 11, 5),
        np.datetime64("2026-11-06T00:00:00", "ns"),
    ]
    crawl = scheduler.report("a", published=moments, new=np.int64(2), changed=np.bool_(True), hold="1m")  # type: ignore[arg-type, list-item]
    assert crawl.new == 6
    assert scheduler.due(limit=np.int64(1)) == ["b"]  # type: ignore[arg-type]


def test_the_errors_are_exported() -> None:
    for name in ("RecrawlError", "ParameterError", "ContractError", "StoreError", "StoreTakenError"):
        assert getattr(recrawl, name) is getattr(recrawl.errors, name)
        assert issubclass(getattr(recrawl, name), recrawl.RecrawlError)
