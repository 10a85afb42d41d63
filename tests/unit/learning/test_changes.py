"""Change rates learned from changed and unchanged visits."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.learning.changes import ChangeBeliefs
from recrawl.learning.rates import rate_grid

SPAN = (1e-3, 10.0)


def crawled(beliefs: ChangeBeliefs, rates: np.ndarray, visits: int, random: np.random.Generator, regular: bool) -> None:
    ids = np.arange(len(rates))
    for _ in range(visits):
        gaps = np.ones(len(rates)) if regular else random.exponential(2.0, len(rates))
        beliefs.learn(ids, gaps, random.random(len(rates)) < -np.expm1(-rates * gaps))


@pytest.mark.parametrize("regular", [True, False])
@pytest.mark.parametrize("visits", [3, 20, 100])
def test_ninety_per_cent_intervals_hold_the_truth_nine_times_in_ten(visits: int, regular: bool) -> None:
    random = np.random.default_rng(visits)
    rates = np.exp(random.normal(-1.5, 1.0, 1500))
    beliefs = ChangeBeliefs(1500, SPAN)
    crawled(beliefs, rates, visits, random, regular)
    low, high = beliefs.interval(np.arange(1500), 0.9)
    assert 0.86 < ((low <= rates) & (rates <= high)).mean() < 0.94


def test_a_page_that_changed_at_every_visit_has_a_finite_rate_that_grows_with_the_evidence() -> None:
    beliefs, means = ChangeBeliefs(1, SPAN), []
    for _ in range(300):
        beliefs.learn(np.array([0]), np.ones(1), np.ones(1, dtype=bool))
        means.append(beliefs.mean(np.array([0]))[0])
    assert np.isfinite(means).all()
    assert means[0] < means[20] < means[-1] <= SPAN[1]


def test_a_page_that_never_changed_is_believed_slower_the_longer_the_gaps() -> None:
    beliefs = ChangeBeliefs(2, SPAN)
    for _ in range(20):
        beliefs.learn(np.array([0, 1]), np.array([1.0, 10.0]), np.zeros(2, dtype=bool))
    slow, slower = beliefs.mean(np.array([0, 1]))
    assert slower < slow < 0.1


def test_the_posterior_does_not_depend_on_the_order_of_visits() -> None:
    random = np.random.default_rng(0)
    gaps, changed = random.exponential(1.0, 30), random.random(30) < 0.5
    posteriors = []
    for order in (np.arange(30), random.permutation(30)):
        beliefs = ChangeBeliefs(1, SPAN)
        for k in order:
            beliefs.learn(np.array([0]), gaps[[k]], changed[[k]])
        posteriors.append(beliefs.evidence[0])
    np.testing.assert_allclose(posteriors[0], posteriors[1], atol=2e-3)


def test_the_prior_is_learned_from_the_catalogue() -> None:
    random = np.random.default_rng(2)
    beliefs = ChangeBeliefs(400, SPAN)
    crawled(beliefs, np.full(400, 0.2), 30, random, regular=False)
    beliefs.grow(1)
    assert beliefs.mean(np.array([400]))[0] == pytest.approx(0.2, rel=0.25)


def test_with_a_memory_a_page_that_woke_up_is_believed_awake() -> None:
    steady, forgetful = ChangeBeliefs(1, SPAN), ChangeBeliefs(1, SPAN, memory=20.0)
    for beliefs in (steady, forgetful):
        for saw in [False] * 200 + [True] * 20:
            beliefs.learn(np.array([0]), np.ones(1), np.array([saw]))
    assert forgetful.mean(np.array([0]))[0] > 3 * steady.mean(np.array([0]))[0]


@pytest.mark.parametrize("span", [(0.0, 1.0), (2.0, 1.0), (1.0, np.inf)])
def test_an_impossible_range_of_rates_is_refused(span: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="rates"):
        rate_grid(span)
