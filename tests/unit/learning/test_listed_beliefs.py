"""What is believed of listed pages, against the formulas written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.listed_beliefs import believed_rates, chance_of_truth, learn_hidden

RATES = np.geomspace(0.01, 10.0, 12)
PAGES = 5


def made(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "plain": random.normal(0, 3, (9, len(RATES))).astype(np.float32),
        "base": random.normal(0, 1, len(RATES)),
        "tilt": random.normal(0, 0.1, 9).astype(np.float32),
        "evidence": random.normal(0, 3, (7, len(RATES))).astype(np.float32),
        "count": random.integers(0, 6, 7).astype(np.float32),
        "time": random.uniform(0, 20, 7).astype(np.float32),
        "recall": random.uniform(0, 1, PAGES),
        "per_change": random.uniform(0, 2, PAGES),
        "per_time": random.uniform(0, 2, PAGES),
    }


def shares(logs: np.ndarray) -> np.ndarray:
    raised = np.exp(logs - logs.max())
    return raised / raised.sum()


@pytest.mark.parametrize("trust", [0.0, 0.3, 1.0])
def test_what_is_believed_is_a_mixture_of_both_accounts(trust: float) -> None:
    known, rows, places = made(1), np.array([8, 0, 3, 3, 5]), np.array([6, 1, 0, 2, 4])
    out, weight = np.full((PAGES, len(RATES)), np.nan), np.full(PAGES, trust)
    believed_rates(
        rows, known["plain"], known["base"], known["tilt"], RATES, places, known["evidence"], known["count"],
        known["time"], known["recall"], known["per_change"], known["per_time"], weight, out,
    )  # fmt: skip
    for k in range(PAGES):
        prior = known["base"] + known["tilt"][rows[k]] * np.arange(len(RATES))
        told = (known["recall"][k] + known["per_change"][k]) * RATES + known["per_time"][k]
        named = known["count"][places[k]] * np.log(told) - known["time"][places[k]] * told
        expected = (1 - trust) * shares(known["plain"][rows[k]] + prior)
        expected += trust * shares(known["evidence"][places[k]] + prior + named)
        np.testing.assert_allclose(out[k], expected, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)


def test_visits_are_taken_in_by_the_places_they_are_about_and_no_others() -> None:
    known, places = made(2), np.array([5, 2, 0])
    before, evidence = known["evidence"].astype(np.float64), known["evidence"].copy()
    since_read, covered, signals = np.array([0.1, 0.0, 2.0]), np.array([1.0, 3.0, 0.0]), np.array([2, 0, 0])
    doubt, changed = np.array([1.0, 0.4, 1.0]), np.array([True, False, True])
    law = known["recall"][:3], known["per_change"][:3], known["per_time"][:3]
    learn_hidden(places, evidence, RATES, since_read, covered, signals, doubt, *law, changed)
    for k, place in enumerate(places.tolist()):
        false = law[1][k] * RATES + law[2][k]
        same = doubt[k] * np.exp(-RATES * (since_read[k] + (1 - law[0][k]) * covered[k]))
        same *= (false / (law[0][k] * RATES + false)) ** signals[k]
        row = before[place] + np.log(1 - same if changed[k] else same)
        np.testing.assert_allclose(evidence[place], row - row.max(), rtol=1e-4, atol=1e-4)
    others = np.setdiff1d(np.arange(7), places)
    np.testing.assert_array_equal(evidence[others], known["evidence"][others])


def test_the_chance_that_a_signal_is_true_is_one_less_that_all_are_false() -> None:
    random = np.random.default_rng(3)
    mass, change = random.dirichlet(np.ones(4), PAGES), random.uniform(0.1, 3.0, (PAGES, 4))
    signals, doubt, known, out = np.arange(PAGES), random.uniform(0, 1, PAGES), made(3), np.empty(PAGES)
    law = known["recall"], known["per_change"], known["per_time"]
    chance_of_truth(mass.astype(np.float32), change.astype(np.float32), signals, doubt, *law, out)
    false = law[1][:, None] * change + law[2][:, None]
    share = false / (law[0][:, None] * change + false)
    expected = 1.0 - doubt * (mass * share ** signals[:, None]).sum(axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_a_signal_of_a_list_that_announces_nothing_is_true_with_no_chance_at_all_and_never_with_less() -> None:
    """Masses in single precision may add up to a little more than one."""
    mass = np.full((1, 6), np.nextafter(np.float32(1 / 6), np.float32(1)), np.float32)
    assert mass.sum(dtype=np.float64) > 1.0
    out, nothing, one = np.empty(1), np.zeros(1), np.ones(1)
    chance_of_truth(mass, np.ones((1, 6), np.float32), np.array([3]), one, nothing, nothing, one, out)
    assert out.tolist() == [0.0]
