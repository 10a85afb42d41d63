"""What a list says of a page, against plain simulation and the formula as it is written."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oracles.lists import Law, moment_by_moment
from recrawl.kernels.list_likelihood import (
    false_share,
    hidden_evidence,
    signal_evidence,
    unchanged_by_list,
    unchanged_without,
)

RATES = np.geomspace(0.01, 20.0, 9)
LAWS = [Law(0.9, 0.0, 0.0), Law(0.6, 0.5, 0.3), Law(0.3, 2.0, 0.0), Law(0.0, 0.0, 1.0), Law(1.0, 0.1, 0.05)]


def shares(seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).exponential(size=len(RATES))
    return drawn / drawn.sum()


def by_list(weights: np.ndarray, since_read: float, covered: float, signals: int, law: Law) -> float:
    out = np.empty(1)
    figures = (np.array([each]) for each in (law.recall, law.per_change, law.per_time))
    unchanged_by_list(weights, RATES, since_read, covered, signals, *figures, out)
    return float(out[0])


def written(weights: np.ndarray, since_read: float, covered: float, signals: int, law: Law) -> float:
    """E e^{−Δ(u + (1−λ)c)}·rⁿ, term by term."""
    total = 0.0
    for weight, rate in zip(weights, RATES, strict=True):
        false = law.per_change * rate + law.per_time
        told = law.recall * rate + false
        r = false / told if told else 1.0
        total += weight * math.exp(-rate * (since_read + (1 - law.recall) * covered)) * r**signals
    return total


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("signals", [0, 1, 2, 7])
def test_the_chance_that_a_page_is_unchanged_is_the_formula_as_written(law: Law, signals: int) -> None:
    for seed, (since_read, covered) in enumerate([(0.0, 1.0), (0.3, 0.0), (0.2, 3.0), (5.0, 0.1)]):
        weights = shares(seed)
        expected = written(weights, since_read, covered, signals, law)
        assert by_list(weights, since_read, covered, signals, law) == pytest.approx(expected, rel=1e-9)


def test_laws_are_laid_out_by_recall_then_false_per_change_then_false_per_time() -> None:
    recalls, per_change, per_time = np.array([0.2, 0.9]), np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.5])
    out, weights = np.empty(12), shares(1)
    unchanged_by_list(weights, RATES, 0.1, 0.7, 2, recalls, per_change, per_time, out)
    expected = [written(weights, 0.1, 0.7, 2, Law(a, b, c)) for a in recalls for b in per_change for c in per_time]
    np.testing.assert_allclose(out, expected, rtol=1e-9)


@pytest.mark.parametrize("law", [Law(0.6, 0.5, 0.3), Law(0.9, 0.0, 0.5), Law(0.3, 2.0, 0.0)])
def test_a_played_page_is_unchanged_as_often_as_said_after_so_many_signals(law: Law) -> None:
    """Of 20,000 gaps, those with 0, 1 and 2 signals; each share within 4 standard errors of what it must be."""
    change, covered = float(RATES[5]), 0.8
    played = moment_by_moment(law, change, covered, 20_000, np.random.default_rng(7))
    weights = np.zeros(len(RATES))
    weights[5] = 1.0
    for signals in (0, 1, 2):
        mine = played.signals == signals
        share, expected = 1.0 - played.changed[mine].mean(), by_list(weights, 0.0, covered, signals, law)
        error = math.sqrt(max(expected * (1.0 - expected), 1e-4) / mine.sum())
        assert mine.sum() > 500
        assert abs(share - expected) < 4.0 * error


@pytest.mark.parametrize("signals", [0, 1, 5])
def test_a_list_that_says_nothing_of_changes_leaves_the_plain_law(signals: int) -> None:
    weights, plain = shares(3), np.empty(1)
    unchanged_without(weights, RATES, 0.9, np.array([1.0]), np.array([1.0]), plain)
    assert by_list(weights, 0.4, 0.5, signals, Law(0.0, 0.0, 2.0)) == pytest.approx(plain[0], rel=1e-9)
    assert by_list(weights, 0.4, 0.5, signals, Law(0.0, 0.7, 0.0)) == pytest.approx(plain[0], rel=1e-9)


def test_of_a_perfect_list_that_is_silent_only_the_time_since_its_reading_counts() -> None:
    weights, plain = shares(4), np.empty(1)
    unchanged_without(weights, RATES, 0.3, np.array([1.0]), np.array([1.0]), plain)
    for covered in (0.0, 1.0, 1e6):
        assert by_list(weights, 0.3, covered, 0, Law(1.0)) == pytest.approx(plain[0], rel=1e-9)


def test_a_signal_of_a_list_without_false_ones_is_proof() -> None:
    assert by_list(shares(5), 0.0, 1.0, 1, Law(0.5)) == 0.0
    assert false_share(3.0, 0.5, 0.0, 0.0) == 0.0
    assert false_share(3.0, 0.0, 0.0, 0.0) == 1.0


def test_more_signals_and_longer_gaps_never_make_it_likelier_that_a_page_is_unchanged() -> None:
    for law in LAWS:
        chances = [by_list(shares(6), 0.1, 1.0, n, law) for n in range(6)]
        assert np.all(np.diff(chances) <= 0.0)
        chances = [by_list(shares(6), u, c, 1, law) for u, c in [(0.0, 0.5), (0.1, 0.5), (0.1, 2.0), (3.0, 2.0)]]
        assert np.all(np.diff(chances) <= 0.0)


def test_the_plain_law_is_the_formula_as_written_for_every_scale_and_power() -> None:
    scales, powers, weights = np.array([0.5, 1.0, 2.0]), np.array([0.4, 1.0]), shares(8)
    out = np.full(6, np.nan)
    unchanged_without(weights, RATES, 0.7, scales, powers, out)
    expected = [float(weights @ np.exp(-s * (RATES * 0.7) ** k)) for s in scales for k in powers]
    np.testing.assert_allclose(out, expected, rtol=1e-9)


@pytest.mark.parametrize("changed", [False, True])
def test_the_evidence_of_a_visit_is_the_logarithm_of_what_was_likely(changed: bool) -> None:
    law, evidence = Law(0.7, 0.3, 0.2), np.full(len(RATES), 5.0)
    hidden_evidence(evidence, RATES, 0.2, 0.6, 2, 0.8, law.recall, law.per_change, law.per_time, changed)
    false = law.per_change * RATES + law.per_time
    same = 0.8 * np.exp(-RATES * (0.2 + 0.3 * 0.6)) * (false / (law.recall * RATES + false)) ** 2
    np.testing.assert_allclose(evidence - 5.0, np.log(1.0 - same if changed else same), rtol=1e-9)


def test_so_many_signals_in_so_much_time_count_as_a_poisson_law_has_it() -> None:
    evidence = np.zeros(len(RATES))
    signal_evidence(evidence, RATES, 3.0, 2.0, 0.7, 0.3, 0.2)
    told = RATES + 0.2
    np.testing.assert_allclose(evidence, 3.0 * np.log(told) - 2.0 * told, rtol=1e-9)
    assert RATES[np.argmax(evidence)] == pytest.approx(3.0 / 2.0 - 0.2, rel=0.7)


def test_evidence_is_finite_where_a_visit_was_impossible() -> None:
    """A signal that is proof, and a page unchanged; a silent perfect list, and a page changed."""
    evidence = np.zeros(len(RATES))
    hidden_evidence(evidence, RATES, 0.0, 1.0, 1000, 0.0, 1.0, 0.0, 0.0, False)
    hidden_evidence(evidence, RATES, 0.0, 1.0, 0, 1.0, 1.0, 0.0, 0.0, True)
    signal_evidence(evidence, RATES, 10.0, 1e9, 0.0, 0.0, 0.0)
    assert np.isfinite(evidence).all()
