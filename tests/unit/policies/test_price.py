"""The price of the learner among sources that may not be fetched as often as they are worth it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from recrawl import Scheduler
from recrawl.clock import ManualClock

SOURCES, HOUR_S = 30, 3600.0
LEAST_S = 30.0


def test_sources_are_due_when_it_says_although_the_fastest_are_held_back(tmp_path: Path) -> None:
    """The fastest are bought the moment they may be, far above the price: they must not be taken for it."""
    random = np.random.default_rng(3)
    rates = random.lognormal(math.log(1 / 600), 1.6, SOURCES)
    keys = [f"http://host{k % 9}.example/{k}" for k in range(SOURCES)]
    clock = ManualClock(1.8e9)
    scheduler = Scheduler(
        tmp_path / "recrawl.db", 40 / 60, clock=clock, min_interval=LEAST_S, scope="host", write_every="1h"
    )
    scheduler.add_many({key: {} for key in keys})
    last, said = dict.fromkeys(keys, clock.now()), dict[str, float]()
    begun, ratios, held_back = clock.now() + HOUR_S, list[float](), 0
    while clock.now() < begun + HOUR_S:
        clock.advance(1.5)
        now = clock.now()
        for key in scheduler.due():
            gap = now - last[key]
            held_back += gap < LEAST_S + 3.0
            if key in said and gap > 4.0 / 3.0 * LEAST_S:
                ratios.append((said[key] - last[key]) / gap)
            items = random.poisson(rates[keys.index(key)] * gap)
            scheduler.report(key, published=np.sort(random.uniform(last[key], now, items)).tolist())
            last[key] = now
            if now > begun:
                said[key] = scheduler.explain(key).due
    scheduler.close()
    assert held_back > 100
    assert len(ratios) > 300
    assert 0.9 < np.median(ratios) < 1.1
    assert np.mean((np.array(ratios) > 0.75) & (np.array(ratios) < 1.33)) > 0.85
