"""What a shard says of its catalogue."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl import Visits
from recrawl.errors import ParameterError
from recrawl.policies.learned_whittle import LearnedWhittle

NOW = 1.75e9


def learned(count: int = 40, groups: np.ndarray | None = None) -> LearnedWhittle:
    """All visited, at unlike paces."""
    policy = LearnedWhittle()
    policy.start(count, NOW, groups=groups)
    gaps = 60.0 * 1.2 ** np.arange(count)
    policy.observe(Visits(np.arange(count), NOW, published=[NOW - gap * np.arange(1, 21) for gap in gaps]))
    return policy


@pytest.mark.parametrize("budget", [0.5, 4.0])
def test_demand_at_the_price_of_a_budget_is_that_budget(budget: float) -> None:
    random, rates = np.random.default_rng(7), np.exp(np.linspace(np.log(0.01), np.log(3.0), 60)) / 3600.0
    policy = LearnedWhittle(half_life=6 * 3600.0)
    policy.start(60, NOW)
    cost = np.ones(60)
    policy.configure(np.arange(60), importance=np.linspace(0.3, 3.0, 60))
    seen, saved, spent, hours = np.full(60, NOW), 0.0, 0.0, 400
    for hour in range(1, hours + 1):
        now, saved = NOW + 3600.0 * hour, min(saved + budget, 8.0)
        ids = policy.choose(now, saved)
        saved -= cost[ids].sum()
        spent += cost[ids].sum() * (hour > hours // 2)
        gaps = now - seen[ids]
        news = [
            now - gap * random.random(random.poisson(rate * gap)) for gap, rate in zip(gaps, rates[ids], strict=True)
        ]
        policy.observe(Visits(ids, now, published=news))
        seen[ids] = now
    survey = policy.survey(policy.price, now)
    assert survey.demand * 3600.0 == pytest.approx(spent / (hours / 2), rel=0.25)
    assert (survey.sources, survey.newcomers) == (60, 0)


def test_the_slope_says_how_demand_follows_the_price() -> None:
    policy = learned()
    policy.configure(np.arange(40), importance=np.linspace(0.1, 3.0, 40), cost=np.linspace(1.0, 4.0, 40))
    for price in (1e-3, 1e-2, 0.3):
        survey = policy.survey(price, NOW, 30.0)
        above, below = policy.survey(price * 1.001, NOW, 30.0), policy.survey(price / 1.001, NOW, 30.0)
        assert survey.slope == pytest.approx((above.demand - below.demand) / math.log(1.001**2), rel=0.05)


def test_what_is_due_at_the_price_is_the_backlog() -> None:
    policy = learned()
    due = policy.intervals(np.arange(40), 0.01) <= 600.0
    assert 0 < due.sum() < 40
    assert policy.survey(0.01, NOW + 600.0).backlog == due.sum()


def test_only_sources_that_will_be_fetched_count() -> None:
    policy = learned(6)
    policy.add(3)
    policy.hold([0], math.inf)
    policy.hold([1], NOW + 1e6)
    policy.remove([2])
    policy.hold([6], math.inf)
    policy.hold([7], NOW + 1e6)
    survey = policy.survey(0.1, NOW)
    assert (survey.sources, survey.newcomers) == (4, 1)
    alone = [policy.survey(0.1, NOW).demand]
    policy.remove([1, 3, 4])
    assert policy.survey(0.1, NOW).demand < alone[0]


def test_sources_away_still_count() -> None:
    policy = learned(6)
    before = policy.survey(0.1, NOW + 60.0)
    assert len(policy.choose(NOW + 60.0, 3.0)) == 3
    after = policy.survey(0.1, NOW + 60.0)
    assert (after.demand, after.sources) == (pytest.approx(before.demand, rel=1e-12), 6)


def test_a_host_is_not_visited_more_often_than_its_delay_allows() -> None:
    crowd = learned(40, np.repeat([0, 1], [39, 1]))
    alone = learned(1, np.array([0]))
    free, held = crowd.survey(1e-6, NOW), crowd.survey(1e-6, NOW, delay=100.0)
    assert free.demand > 1.0
    slowest = free.demand - crowd_without_last(crowd)
    assert held.demand == pytest.approx(0.01 + min(slowest, 0.01), rel=1e-9)
    assert alone.survey(1.0, NOW, delay=1e-3) == alone.survey(1.0, NOW)


def crowd_without_last(policy: LearnedWhittle) -> float:
    return float((1.0 / policy.intervals(np.arange(39), 1e-6)).sum())


def test_without_a_price_sources_are_counted_and_nothing_else() -> None:
    survey = learned(5).survey(math.nan, NOW)
    assert (survey.demand, survey.slope, survey.backlog, survey.sources) == (0.0, 0.0, 0.0, 5)


def test_a_price_below_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="price"):
        learned(2).survey(-1.0, NOW)


def test_an_empty_catalogue_wants_nothing() -> None:
    policy = LearnedWhittle()
    policy.start(0, NOW)
    assert policy.survey(1.0, NOW, delay=1.0).demand == 0.0
