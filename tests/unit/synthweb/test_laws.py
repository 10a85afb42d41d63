"""Sources publish by the laws they are said to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.synthweb.laws import Arrivals, Law

LAWS = {
    "steady": Law(rate=2.0),
    "diurnal": Law(rate=2.0, swing=8.0, peak_hour=9.0),
    "profile": Law(rate=2.0, profile=(0.0,) * 12 + (1.0,) * 12),
    "drifting": Law(rate=2.0, drift=10.0, drift_days=2.0),
    "bursty": Law(rate=2.0, branching=0.75),
    "all": Law(rate=2.0, swing=3.0, drift=4.0, branching=0.5),
}
HOURS = 24 * 400.0


def times(law: Law, seed: int = 1, hours: float = HOURS) -> np.ndarray:
    return Arrivals(law, (seed, 0), history=20).between(0.0, hours)


@pytest.mark.parametrize("name", LAWS)
def test_the_long_run_rate_is_the_stated_one(name: str) -> None:
    law = LAWS[name]
    # The count of a Hawkes process has 1/(1−n)² times the variance of a Poisson one.
    spread = 1.0 / (1.0 - law.branching)
    expected = law.rate * HOURS
    assert abs(len(times(law)) - expected) < 4 * spread * math.sqrt(expected)


def test_times_come_in_order_and_within_the_interval_asked_for() -> None:
    found = Arrivals(LAWS["all"], (3, 1)).between(10.0, 500.0)
    assert (np.diff(found) >= 0).all()
    assert found[0] > 10.0
    assert found[-1] <= 500.0


@pytest.mark.parametrize("name", LAWS)
def test_what_is_published_does_not_depend_on_what_was_asked(name: str) -> None:
    at_once = Arrivals(LAWS[name], (5, 2)).between(-math.inf, 300.0)
    stepwise = Arrivals(LAWS[name], (5, 2))
    for hour in np.linspace(-10.0, 300.0, 77):
        stepwise.count(hour)
    assert at_once.tolist() == stepwise.between(-math.inf, 300.0).tolist()


def test_sources_with_other_seeds_publish_otherwise() -> None:
    assert times(LAWS["steady"], seed=1).tolist() != times(LAWS["steady"], seed=2).tolist()


def test_a_steady_source_is_poisson() -> None:
    gaps = np.diff(times(LAWS["steady"]))
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.05)


def test_a_diurnal_source_peaks_when_and_as_much_as_it_should() -> None:
    law = LAWS["diurnal"]
    counts, _ = np.histogram(times(law, hours=24 * 4000.0) % 24, bins=24, range=(0, 24))
    edges = np.arange(24) + 0.5
    expected = law.spontaneous(edges) * 4000.0
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
    intensity = law.spontaneous(np.linspace(0, 24, 241))
    assert intensity.max() / intensity.min() == pytest.approx(8.0)
    assert intensity.argmax() == 90


def test_a_given_profile_is_followed() -> None:
    assert (times(LAWS["profile"]) % 24 >= 12).all()


def test_a_drifting_source_has_its_stated_range_and_mean() -> None:
    law = LAWS["drifting"]
    intensity = law.spontaneous(np.linspace(0, 48, 4801)[:-1])
    assert intensity.max() / intensity.min() == pytest.approx(10.0, rel=1e-3)
    assert intensity.mean() == pytest.approx(2.0, rel=1e-6)
    assert intensity.max() == pytest.approx(law.highest)


def test_a_bursty_source_comes_in_clusters() -> None:
    """The variance of counts in long windows over their mean tends to 1/(1−n)² [Hawkes 1971]."""
    counts, _ = np.histogram(times(LAWS["bursty"], hours=24 * 2000.0), bins=2000)
    assert counts.var() / counts.mean() == pytest.approx(16.0, rel=0.15)


def test_a_feed_has_a_history_before_the_start() -> None:
    backlog = Arrivals(Law(rate=0.01), (1, 1), history=40).count(0.0)
    assert 15 < backlog < 70


def test_the_latest_items_are_newest_first_and_numbered_from_the_beginning() -> None:
    arrivals = Arrivals(Law(rate=5.0), (1, 1), history=40)
    count = arrivals.count(3.0)
    latest = arrivals.latest(count, 4)
    assert [number for number, _ in latest] == [count - 1, count - 2, count - 3, count - 4]
    assert latest[0][1] == arrivals.time(count - 1)
    assert arrivals.latest(2, 10) == [(1, arrivals.time(1)), (0, arrivals.time(0))]


def test_a_source_of_rate_zero_publishes_nothing() -> None:
    assert Arrivals(Law(rate=0.0), (1, 1)).count(1e9) == 0


@pytest.mark.parametrize(
    "bad", [{"rate": -1.0}, {"rate": math.nan}, {"rate": 1, "swing": 0.5}, {"rate": 1, "branching": 1.0},
            {"rate": 1, "profile": (1.0,) * 23}, {"rate": 1, "drift": 0.0}, {"rate": 1, "echo_h": 0.0}],
)  # fmt: skip
def test_an_impossible_law_is_refused_by_name(bad: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=list(bad)[-1]):
        Law(**bad)


def test_laws_say_what_they_are() -> None:
    assert [law.name for law in LAWS.values()] == [
        "steady", "diurnal", "diurnal", "drifting", "bursty", "diurnal+drifting+bursty",
    ]  # fmt: skip
