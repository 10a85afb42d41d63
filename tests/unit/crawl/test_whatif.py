import math
import time
from itertools import pairwise

import numpy as np
import pytest

from recrawl.crawl.whatif import Catalogue, compare, movers, prospect

MU = math.log(2) / 43200


def catalogue(count=200, seed=0, **changes):
    random = np.random.default_rng(seed)
    columns = {
        "value": random.lognormal(0, 2, count),
        "rate": MU * random.lognormal(0, 0.5, count),
        "cost": random.uniform(0.5, 3, count),
        "min_interval": np.full(count, 30.0),
        "max_age": np.full(count, 30 * 86400.0),
    }
    return Catalogue(**{**columns, **changes})


@pytest.mark.parametrize("budget", [0.001, 0.01, 0.2])
def test_spend_is_the_budget_and_no_other_cadence_captures_more(budget):
    sources = catalogue(min_interval=np.zeros(200), max_age=np.full(200, np.inf))
    found = prospect(sources, budget)
    assert found.spend == pytest.approx(budget, rel=1e-9)

    def captured(interval):
        return (sources.value * (1 - np.exp(-sources.rate * interval)) / interval).sum()

    assert found.captured == pytest.approx(captured(found.interval))
    random = np.random.default_rng(1)
    for _ in range(100):
        other = found.interval * random.lognormal(0, 0.2, 200)
        other *= (sources.cost / other).sum() / budget
        assert (sources.cost / other).sum() == pytest.approx(budget)
        assert captured(other) < found.captured


def test_more_budget_never_captures_less_and_the_price_falls():
    found = compare(catalogue(), [0.001, 0.01, 0.1, 1.0])
    assert all(b.captured >= a.captured and b.price <= a.price and b.delay <= a.delay
               for a, b in pairwise(found))  # fmt: skip
    assert all(each.captured < each.inflow for each in found)


def test_sources_not_worth_a_fetch_are_counted_and_kept_within_their_age():
    sources = catalogue()
    found = prospect(sources, 0.001)
    hopeless = sources.value <= found.price * sources.cost
    assert found.unworthy == hopeless.sum() > 0
    assert (found.interval[hopeless] == 30 * 86400.0).all()


def test_sources_nothing_is_known_of_are_left_out():
    value = catalogue().value
    value[:10] = np.nan
    found = prospect(catalogue(value=value), 0.1)
    assert np.isnan(found.interval[:10]).all()
    assert found.spend == pytest.approx(0.1)


def test_nothing_known_at_all_is_no_error():
    found = prospect(catalogue(value=np.full(200, np.nan)), 0.1)
    assert (found.captured, found.unworthy, found.spend) == (0.0, 0, 0.0)


def test_movers_are_those_whose_capture_changes_most():
    before, after = compare(catalogue(), [0.001, 0.01])
    change = np.abs(after.captures - before.captures)
    assert movers(before, after, 5).tolist() == np.argsort(-change)[:5].tolist()
    assert len(movers(before, before, 5)) == 0


def test_a_hundred_thousand_sources_are_compared_at_once():
    sources = catalogue(100_000)
    prospect(catalogue(10), 0.1)
    began = time.process_time()
    compare(sources, [1.0, 10.0])
    assert time.process_time() - began < 5.0
