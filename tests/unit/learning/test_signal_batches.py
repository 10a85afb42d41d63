"""A thousand signals at one moment are one event: a few visits find out about all of them."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.learning.list_trust import FORGETTING
from recrawl.learning.signal_batches import ALONE, LEAST_SIZE, RUN_GAP_S, SUREST, SignalBatches, runs

NOW = 1.75e9


def made(lists: int = 1) -> SignalBatches:
    batches = SignalBatches()
    batches.classes.grow(lists)
    return batches


def batch_of(batches: SignalBatches, size: int, owner: int = 0, at: float = NOW) -> int:
    """One batch of pages that all wait."""
    found = batches.gather(owner, np.full(size, at))
    batches.wait(found)
    return int(found[0])


def visited(batches: SignalBatches, batch: int, truth: list[float]) -> float:
    """Visits to its pages; how likely another of its signals is true then."""
    batches.learn(np.full(len(truth), batch), np.array(truth), FORGETTING)
    return float(batches.precision(np.array([batch]))[0])


def plain_runs(times: list[float], gap: float) -> list[int]:
    """The run of each time, by walking along them."""
    number, before, out = -1, -np.inf, {}
    for place in sorted(range(len(times)), key=lambda k: times[k]):
        number += times[place] - before > gap
        out[place], before = number, times[place]
    return [out[k] for k in range(len(times))]


@pytest.mark.parametrize("seed", range(20))
def test_times_that_follow_each_other_closely_are_a_run(seed: int) -> None:
    random = np.random.default_rng(seed)
    times = random.choice(np.arange(0, 2000, 20.0), random.integers(0, 40))
    number, sizes = runs(times, RUN_GAP_S)
    assert number.tolist() == plain_runs(times.tolist(), RUN_GAP_S)
    assert sizes.tolist() == np.bincount(number).tolist() if len(times) else len(sizes) == 0


def test_a_few_visits_to_a_thousand_settle_the_rest() -> None:
    """Nothing is known of batches: half. Three visits that found nothing leave less than a fifth, five a seventh; as
    many that found changes make it four fifths, and more.
    """
    batches = made()
    false, true = batch_of(batches, 1000), batch_of(batches, 1000, at=NOW + 1e6)
    assert batches.precision(np.array([false]))[0] == pytest.approx(0.5)
    assert visited(batches, false, [0.0] * 3) < 0.2
    assert visited(batches, false, [0.0] * 2) < 0.15
    batches = made()
    true = batch_of(batches, 1000)
    assert visited(batches, true, [1.0] * 3) > 0.8
    assert visited(batches, true, [1.0] * 200) <= SUREST


def test_the_next_batch_of_its_size_is_believed_like_the_last_ones() -> None:
    batches = made()
    for k in range(3):
        visited(batches, batch_of(batches, 1000, at=NOW + k), [0.0] * 5)
    large, small = batch_of(batches, 900), batch_of(batches, 10)
    assert batches.precision(np.array([large]))[0] < 0.1
    assert batches.precision(np.array([small]))[0] == pytest.approx(0.5)


def test_other_lists_are_believed_a_little_by_what_one_did() -> None:
    batches = made(3)
    for k in range(5):
        visited(batches, batch_of(batches, 100, at=NOW + k), [0.0] * 5)
    other = batches.precision(np.array([batch_of(batches, 100, owner=1)]))[0]
    assert 0.05 < other < 0.3
    for k in range(5):
        visited(batches, batch_of(batches, 100, owner=1, at=NOW + k), [1.0] * 5)
    assert batches.precision(np.array([batch_of(batches, 100, owner=1)]))[0] > 0.9
    assert batches.precision(np.array([batch_of(batches, 100, owner=0)]))[0] < 0.2


def test_single_signals_are_in_no_batch_and_change_none() -> None:
    batches = made()
    one = batch_of(batches, 50)
    before = batches.precision(np.array([one])).copy()
    times = NOW + 1e6 + 2 * RUN_GAP_S * np.arange(500.0)
    found = batches.gather(0, times)
    assert (found == ALONE).all()
    assert (batches.gather(0, np.full(LEAST_SIZE - 1, NOW)) == ALONE).all()
    batches.wait(found)
    batches.learn(found, np.zeros(500), FORGETTING)
    batches.leave(found)
    np.testing.assert_array_equal(batches.precision(np.array([one])), before)
    assert batches.waiting[: len(batches)].tolist() == [50]


def test_a_row_is_used_anew_and_knows_nothing_of_the_batch_before() -> None:
    batches = made(2)
    first = batch_of(batches, 20)
    visited(batches, first, [1.0] * 10)
    batches.leave(np.full(20, first))
    again = batch_of(batches, 300, owner=1)
    assert again == first
    assert (batches.owner[again], batches.waiting[again]) == (1, 300)
    assert (batches.hits[again], batches.misses[again]) == (0.0, 0.0)


def test_signals_nobody_waits_for_are_forgotten_at_once() -> None:
    batches = made()
    for k in range(50):
        batches.forget_empty(batches.gather(0, np.full(30, NOW + 1000 * k)))
    assert len(batches) == 1


def test_of_no_signals_there_are_no_batches() -> None:
    batches = made()
    assert batches.gather(0, np.empty(0)).shape == (0,)
    batches.leave(np.empty(0, np.int64))
    batches.learn(np.empty(0, np.int64), np.empty(0), FORGETTING)
    assert batches.precision(np.empty(0, np.int64)).shape == (0,)
