"""A million sources, drifting beliefs, a thousand ticks: every choice is what looking at everybody would choose."""

import numpy as np
import pytest

from recrawl.scheduling.calendar import Calendar
from recrawl.scheduling.scan import scan


def catalogue(rng, size):
    """Arrivals over four decades, decay within a factor of a few, ages anywhere between just now and long ago."""
    decay = 10 ** rng.normal(-1.0, 0.25, size)
    value = 10 ** rng.normal(0.0, 1.0, size) / decay
    last = -rng.exponential(30.0, size)
    last[rng.random(size) < 0.01] = -np.inf
    return value, decay, last


def follow(size, ticks, budget, seed):
    rng = np.random.default_rng(seed)
    value, rate, last = catalogue(rng, size)
    calendar = Calendar(value, rate, last=last, now=0.0)
    allowed = np.ones(size, bool)
    now = 0.0
    for tick in range(ticks):
        now += 0.02 * rng.choice([0.5, 1.0, 1.5])
        tokens = int(budget * rng.uniform(0.5, 1.5))
        chosen = calendar.choose(now, tokens)
        expected = scan(value, rate, last=last, now=now, budget=tokens, allowed=allowed)
        assert np.array_equal(chosen, expected), f"tick {tick}"
        last[chosen] = now
        drifting = np.unique(np.append(chosen, rng.integers(0, size, 200)))
        drifting = drifting[allowed[drifting]]
        value[drifting] *= np.exp(rng.normal(0.0, 0.1, len(drifting)))
        rate[drifting] *= np.exp(rng.normal(0.0, 0.1, len(drifting)))
        calendar.update(drifting, value=value[drifting], rate=rate[drifting])
        if tick % 100 == 50:
            gone = rng.choice(np.flatnonzero(allowed), 100, replace=False)
            calendar.remove(gone)
            allowed[gone] = False
    return calendar


def test_every_choice_over_a_hundred_thousand_sources_is_that_of_the_scan():
    """`follow` compares every choice."""
    follow(size=100_000, ticks=300, budget=200, seed=1)


@pytest.mark.long
def test_every_choice_over_a_million_sources_is_that_of_the_scan():
    """`follow` compares every choice."""
    follow(size=1_000_000, ticks=1000, budget=1000, seed=2)
