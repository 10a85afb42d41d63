"""What an indexing engine does to the worth of a crawl: formulas against items counted one by one and a programme."""

from __future__ import annotations

import numpy as np
import pytest

import recrawl
from oracles import indexing_engine as oracle
from recrawl.kernels import indexing_engine as kernel
from recrawl.kernels.indexing_engine import batch_wait, capacity_index, even_batch_share, visible_share

DECAY = 0.7


def worth(age: float) -> float:
    return (1.0 - np.exp(-DECAY * age)) / DECAY


def test_a_fixed_delay_takes_the_same_share_of_every_crawl() -> None:
    crawls = np.array([1.0, 1.7, 4.0, 4.5])
    found = oracle.seen_worth(crawls, DECAY, lambda at: at + 0.8, 1e-4) * 1e-4
    gaps = np.diff(crawls, prepend=0.0)
    assert found == pytest.approx(sum(map(worth, gaps)) * float(visible_share(DECAY, 0.8)), rel=1e-4)


def test_of_a_random_delay_only_the_mean_share_counts() -> None:
    delays = np.random.default_rng(4).exponential(0.8, 400_000)
    assert np.exp(-DECAY * delays).mean() == pytest.approx(float(kernel.exponential_delay_share(DECAY, 0.8)), rel=3e-3)


def test_crawls_in_a_batch_wait_for_its_end() -> None:
    crawls = np.array([0.3, 0.9, 1.0, 2.2, 3.9])
    found = oracle.seen_worth(crawls, DECAY, np.ceil, 1e-4) * 1e-4
    gaps, share = np.diff(crawls, prepend=0.0), visible_share(DECAY, batch_wait(crawls, 1.0))
    assert found == pytest.approx(float((worth(gaps) * share).sum()), rel=1e-4)
    early = oracle.seen_worth(np.array([0.2, 0.4, 1.0]), DECAY, np.ceil, 1e-4)
    assert early == pytest.approx(oracle.seen_worth(np.array([1.0]), DECAY, np.ceil, 1e-4)), "sooner is no better"


def test_the_share_of_crawls_at_any_time_is_the_mean_over_a_batch() -> None:
    at = (np.arange(100_000) + 0.5) / 100_000 * 3.0
    assert visible_share(DECAY, batch_wait(at, 3.0)).mean() == pytest.approx(float(even_batch_share(DECAY, 3.0)))


def test_batches_are_at_whole_multiples_and_are_reached_in_time() -> None:
    midnight = 20_000 * 86400.0
    times = [midnight, midnight + 0.1, midnight + 1.0, midnight - 1.0]
    assert batch_wait(times, 86400.0) == pytest.approx([0.0, 86399.9, 86399.0, 1.0], abs=1e-3)
    assert batch_wait(np.arange(1000) * 0.7, 0.7) == pytest.approx(0.0, abs=1e-6), "rounding misses no batch"


@pytest.mark.parametrize("price", [0.05, 0.15, 0.4])
def test_the_best_policy_crawls_at_batches_alone_when_the_slotted_index_reaches_the_price(price: float) -> None:
    """Batches every 10 steps of 0.1: among all policies on that grid."""
    steps, step = 10, 0.1
    ages = np.arange(1, 91) * step
    left = (steps - 1 - np.arange(steps)) * step
    reward = np.array([oracle.worth_of_gap(age, DECAY) for age in ages]) * np.exp(-DECAY * left)[:, None] - price
    made = oracle.crawls_made(oracle.best_crawls(reward), 40 * steps)
    slotted = recrawl.Sources.ephemeral(arrival_rate=1.0, interest=1.0, decay=DECAY, period=steps * step)
    batches = next(k for k in range(1, 20) if recrawl.whittle_index_after(slotted, k)[0] >= price)
    assert {phase for phase, _ in made} == {steps - 1}
    assert {age for _, age in made[1:]} == {batches * steps}


@pytest.mark.parametrize("engine_price", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("price", [0.02, 0.1, 0.3])
def test_under_a_price_of_the_engine_the_index_stops_growing(engine_price: float, price: float) -> None:
    """The best gap among all on a grid is where min(age, A) gives the index this price, if it ever does."""
    gaps = np.arange(1, 1200) * 0.01
    kept = np.array([oracle.kept_of_gap(gap, DECAY, engine_price) for gap in gaps])
    rate = (kept - price) / gaps
    index = capacity_index(1.0 / DECAY, DECAY, gaps, 1.0, engine_price)
    if index.max() < price:
        assert rate.max() < 0.0, "no crawl pays"
    else:
        assert gaps[np.argmax(rate)] == pytest.approx(gaps[np.argmax(index >= price)], abs=0.02)
