"""Feeds whose dates all lie in 1970, never move, or are those of the fetch, are learned like feeds without dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from recrawl import Scheduler
from recrawl.clock import ManualClock

START, HOUR, DAY = 1_794_000_000.0, 3600.0, 86400.0
PACE_S, LISTED = 2 * HOUR, 12
"""Time between two items of every feed, and how many of them it lists."""
Dating = Callable[[float, float], float | None]
"""The date a feed gives an item, by when it came and when the feed is fetched."""
DATINGS: dict[str, Dating] = {
    "undated": lambda came, now: None,
    "all in 1970": lambda came, now: 0.0,
    "counted in 1970": lambda came, now: (came - START) / PACE_S + 1000.0,
    "never moving": lambda came, now: 1_577_836_800.0,
    "never moving since the day before": lambda came, now: START - DAY,
    "date of the fetch": lambda came, now: now - 1.0,
    "next century": lambda came, now: came + 100 * 365 * DAY,
}
HONEST: Dating = lambda came, now: came  # noqa: E731


def items(number: int, now: float) -> list[tuple[str, float]]:
    """Name and true time of what a feed lists: the latest of one item every so often, for years."""
    offset = PACE_S * (number % 10) / 10.0
    latest = int((now - START - offset) // PACE_S)
    return [(f"item {k}", START + offset + k * PACE_S) for k in range(latest, latest - LISTED, -1)]


def fetches(place: Path, dating: Dating, told: str) -> tuple[int, float, int]:
    """Fetches of the feed of interest in ten days beside forty honest ones, what they captured, and new items found."""
    clock = ManualClock(START)
    keys = ["odd", *(f"honest {number}" for number in range(40))]
    counted: Counter[str] = Counter()
    captured, new, known = 0.0, 0, set[str]()
    with Scheduler(place, budget=20 / PACE_S, half_life="4h", clock=clock, write_every="1h") as scheduler:
        scheduler.add_many({key: {} for key in keys})
        for _ in range(int(10 * DAY / 600.0)):
            clock.advance(600.0)
            for key in scheduler.due():
                counted[key] += 1
                number, now = keys.index(key), clock.now()
                given = dating if key == "odd" else HONEST
                listed = [(name, given(came, now)) for name, came in items(number, now)]
                if told == "listed" or key != "odd":
                    crawl = scheduler.report(key, listed=listed)
                else:
                    fresh = [moment for name, moment in listed if name not in known]
                    known.update(name for name, _ in listed)
                    dated = [moment for moment in fresh if moment is not None]
                    crawl = scheduler.report(key, published=dated, new=len(fresh) - len(dated))
                if key == "odd":
                    captured, new = captured + crawl.captured, new + crawl.new
    return counted["odd"], captured, new


@pytest.mark.parametrize("name", DATINGS)
def test_how_long_a_feed_waited_for_its_first_fetch_says_nothing_of_its_pace(name: str, tmp_path: Path) -> None:
    clock = ManualClock(START)
    with Scheduler(tmp_path / "s.db", budget="20/s", burst=20, clock=clock) as scheduler:
        scheduler.add_many({key: {} for key in ("odd", *(f"honest {number}" for number in range(19)))})
        clock.advance(3 * DAY)
        for key in scheduler.due():
            dating = DATINGS[name] if key == "odd" else HONEST
            scheduler.report(key, listed=[(each, dating(came, clock.now())) for each, came in items(0, clock.now())])
        odd, honest = scheduler.explain("odd"), scheduler.explain("honest 0")
    assert odd.visits == honest.visits == 1
    assert 0.4 * honest.value < odd.value < 2.5 * honest.value


@pytest.fixture(scope="module", params=["listed", "published"])
def told(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def undated(told: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, float, int]:
    return fetches(tmp_path_factory.mktemp("undated") / "s.db", DATINGS["undated"], told)


@pytest.mark.parametrize("name", [name for name in DATINGS if name != "undated"])
def test_false_dates_are_no_evidence(told: str, undated: tuple[int, float, int], name: str, tmp_path: Path) -> None:
    visits, captured, new = fetches(tmp_path / "s.db", DATINGS[name], told)
    assert 0.8 * undated[0] <= visits <= 1.25 * undated[0]
    assert 0.95 * undated[2] <= new <= 1.05 * undated[2]
    if (told, name) != ("published", "date of the fetch"):  # one new item of the very moment may be true
        assert 0.8 * undated[1] <= captured <= 1.25 * undated[1]
