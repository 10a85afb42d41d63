"""What owners ask of single sources: fixed intervals, active hours, crawls at once, and terms by tags."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest
from tests.deciders import empty_decider

from recrawl.config import Config, Politeness, QuietHours, SourceOptions, TagSettings, active_from
from recrawl.crawl.decider import Decider
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.visits import Intent, Visit
from recrawl.store.records import Progress, Source, VisitUpdate

MIDNIGHT = 1_700_006_400.0  # 00:00 UTC
HOUR = 3600.0
NINE = MIDNIGHT + 9 * HOUR
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Decider]:
    """A decider with an empty catalogue, long after the start, every source on a host of its own."""

    def make(policy: str = "learned_whittle", **tags: TagSettings) -> Decider:
        config = Config(politeness=Politeness(delay="0s", min_interval="30s"), tags=tags, policy=policy)
        slots = HostSlots(config.politeness, 0.0, random.Random(0))
        return empty_decider(config, slots, MIDNIGHT)

    return make


def source(id: int = 1, tags: tuple[str, ...] = (), **said: object) -> Source:
    return Source(id=id, url=f"https://{id}.example/", tags=tags, options=SourceOptions(**said))  # type: ignore[arg-type]


def chosen(decider: Decider, now: float) -> list[int]:
    return sorted(intent.source.id for intent in decider.choose(now, 10.0))


def visited(decider: Decider, now: float, stay_away_s: float | None = None, text: str = "") -> list[VisitUpdate]:
    """Make the crawls that are chosen now."""
    visits = [answer(intent, now, stay_away_s, text) for intent in decider.choose(now, 10.0)]
    settled = decider.learn_from(visits, now)
    decider.holds.end_visits([visit.intent for visit in visits], now)
    return settled


def answer(intent: Intent, at: float, stay_away_s: float | None, text: str) -> Visit:
    fetched = FetchResult(Response(intent.source.url, 200, {}, b""), intent.source.url, requests=1)
    return Visit(intent, at, fetched, findings=Findings(kind="page", digest=text or str(at), stay_away_s=stay_away_s))


# -- a fixed interval


@pytest.mark.parametrize("policy", ["learned_whittle", "round_robin", "miniflux"])
def test_a_source_with_a_fixed_interval_is_due_exactly_then(made: Callable[..., Decider], policy: str) -> None:
    decider = made(policy)
    decider.upsert([source(interval=2 * HOUR)], NINE)
    at = NINE
    for _ in range(3):
        (settled,) = visited(decider, at, text="the same")
        assert settled.progress.due == at + 2 * HOUR
        assert chosen(decider, at + 2 * HOUR - 1.0) == []
        at += 2 * HOUR
    assert chosen(decider, at) == [1]


def test_it_is_kept_to_against_the_wish_of_the_publisher(made: Callable[..., Decider]) -> None:
    decider = made()
    decider.upsert([source(1, interval=2 * HOUR), source(2, hints=False), source(3)], NINE)
    settled = visited(decider, NINE, 86400.0)
    held = {each.crawl.source: each.progress.held_until for each in settled}
    assert held == {1: 0.0, 2: 0.0, 3: NINE + 86400.0}


def test_a_hold_the_publisher_asked_for_ends_when_an_interval_is_given(made: Callable[..., Decider]) -> None:
    decider = made()
    decider.upsert([source(1)], NINE)
    (settled,) = visited(decider, NINE, 86400.0, text="the same")
    assert settled.progress.held_until == NINE + 86400.0
    decider.upsert([source(1, interval=HOUR)], NINE + 60.0)
    assert chosen(decider, NINE + HOUR - 1.0) == []
    assert chosen(decider, NINE + HOUR) == [1]


def test_it_changes_while_the_crawler_runs(made: Callable[..., Decider]) -> None:
    decider = made()
    decider.upsert([source(interval=2 * HOUR)], NINE)
    visited(decider, NINE, text="the same")
    decider.upsert([source(interval=600.0)], NINE + 60.0)
    assert chosen(decider, NINE + 599.0) == []
    assert chosen(decider, NINE + 600.0) == [1]


def test_a_tag_gives_it_to_all_its_sources(made: Callable[..., Decider]) -> None:
    decider = made(prices=TagSettings(interval="1h", importance=4.0, half_life="2h"))
    decider.upsert([source(1, ("prices",)), source(2)], NINE)
    assert len(visited(decider, NINE, text="the same")) == 2
    assert 1 not in chosen(decider, NINE + HOUR - 1.0)
    assert 1 in chosen(decider, NINE + HOUR)


def test_the_policy_is_told_what_tags_say(made: Callable[..., Decider], monkeypatch: pytest.MonkeyPatch) -> None:
    decider = made(prices=TagSettings(max_age="1h", importance=4.0, half_life="2h"))
    told: dict[str, list[float]] = {}

    def configure(ids: object, **terms: np.ndarray) -> None:
        told.update({name: values.tolist() for name, values in terms.items()})

    decider.upsert([source(1), source(2)], NINE)
    monkeypatch.setattr(decider.policy, "configure", configure)
    decider.upsert([source(1, ("prices",))], NINE)
    assert (told["importance"], told["half_life"], told["max_age"]) == ([4.0], [2 * HOUR], [HOUR])


# -- active hours


def test_a_source_is_fetched_in_its_hours_only(made: Callable[..., Decider]) -> None:
    decider = made()
    decider.upsert([source(1, active_hours=("08:00-18:00 UTC",)), source(2)], MIDNIGHT)
    assert chosen(decider, MIDNIGHT + HOUR) == [2]
    assert chosen(decider, MIDNIGHT + 8 * HOUR - 1.0) == []
    assert chosen(decider, MIDNIGHT + 8 * HOUR) == [1]


def test_when_its_hours_are_over_it_waits_for_the_next(made: Callable[..., Decider]) -> None:
    decider = made()
    hours = ("08:00-18:00 UTC",)
    sources = [source(id, active_hours=hours, interval=HOUR) for id in range(1, 200)]
    decider.upsert(sources, NINE)
    late, morning = MIDNIGHT + 18 * HOUR, MIDNIGHT + 32 * HOUR
    assert len(chosen(decider, late - 1.0)) == 10
    assert chosen(decider, late) == []
    assert decider.holds.ready(late) == set()
    assert chosen(decider, morning - 1.0) == []
    assert len(chosen(decider, morning)) == 10


def test_hours_do_not_keep_the_others_waiting(made: Callable[..., Decider]) -> None:
    decider = made()
    asleep = [source(id, active_hours=("08:00-18:00 UTC",)) for id in range(1, 500)]
    decider.upsert([*asleep, source(500)], NINE)
    assert chosen(decider, MIDNIGHT + 20 * HOUR) == [500]


def test_the_hours_are_those_of_the_clock_on_the_wall() -> None:
    day = [QuietHours.parse("active_hours", "08:00-18:00 Europe/Berlin")]
    for date in ((2026, 3, 28), (2026, 3, 29), (2026, 10, 25), (2026, 7, 1)):
        evening = datetime(*date, 18, 0, tzinfo=BERLIN).timestamp()
        begins = datetime.fromtimestamp(active_from(day, evening), BERLIN)
        assert (begins.hour, begins.minute) == (8, 0)
        assert 0.0 < begins.timestamp() - evening < 15.5 * HOUR


def test_an_hour_that_a_day_does_not_have_comes_the_next_day() -> None:
    hour = [QuietHours.parse("active_hours", "02:10-02:40 Europe/Berlin")]
    before = datetime(2026, 3, 29, 1, 0, tzinfo=BERLIN).timestamp()
    assert active_from(hour, before) == datetime(2026, 3, 30, 2, 10, tzinfo=BERLIN).timestamp()


def test_an_hour_that_comes_twice_counts_both_times() -> None:
    hour = [QuietHours.parse("active_hours", "02:10-02:40 Europe/Berlin")]
    between = datetime(2026, 10, 25, 2, 50, tzinfo=BERLIN).timestamp()
    assert active_from(hour, between) == datetime(2026, 10, 25, 2, 10, tzinfo=BERLIN, fold=1).timestamp()


# -- now


def test_a_wish_goes_before_every_hold_of_the_sources_own(made: Callable[..., Decider]) -> None:
    decider = made()
    told = source(1, active_hours=("08:00-18:00 UTC",), interval=HOUR)
    held = Progress(source=1, last=MIDNIGHT - HOUR, visits=1, failures=3, held_until=MIDNIGHT + 5 * HOUR)
    decider.upsert([told], MIDNIGHT, [held])
    assert chosen(decider, MIDNIGHT + 60.0) == []
    decider.upsert([msgspec.structs.replace(told, wanted=MIDNIGHT + 61.0)], MIDNIGHT + 61.0)
    assert len(visited(decider, MIDNIGHT + 62.0)) == 1
    assert chosen(decider, MIDNIGHT + 6 * HOUR) == [], "granted once"


# -- notice


def test_nothing_is_handed_on_of_a_source_that_shall_not_notify(made: Callable[..., Decider]) -> None:
    decider = made()
    decider.upsert([source(1, notify=False), source(2)], NINE)
    visited(decider, NINE, text="a")
    later = NINE + 40 * 86400.0
    settled = visited(decider, later, text="b")
    assert {each.crawl.source: len(each.events) for each in settled} == {1: 0, 2: 1}
    assert all(each.version is not None for each in settled)


def test_the_policy_knows_of_no_numbers_that_are_not_there(made: Callable[..., Decider]) -> None:
    decider = made()
    decider.upsert([source(1, active_hours=("08:00-18:00 UTC",)), source(2)], MIDNIGHT)
    decider.remove([1])
    assert chosen(decider, NINE) == [2]
    assert np.isfinite(decider.policy.price) or np.isnan(decider.policy.price)
