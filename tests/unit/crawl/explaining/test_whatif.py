import math
import time
from itertools import pairwise

import numpy as np
import pytest

from recrawl.config import Config
from recrawl.crawl.explaining.ranking import Ranking
from recrawl.crawl.explaining.whatif import BelievedSources, believed, compare, movers, prospect
from recrawl.kernels.continuous_index import crossing_age
from recrawl.policies.contract import Beliefs
from recrawl.store.records import Progress, Source

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
    columns |= changes
    known = np.isfinite(columns["value"])

    def intervals(price):
        return crossing_age(*(columns[name][known] for name in ("value", "rate")), price, columns["cost"][known])

    return BelievedSources(**columns, intervals=intervals)


@pytest.mark.parametrize("budget", [0.001, 0.01, 0.2])
def test_spend_is_the_budget_and_no_other_cadence_captures_more(budget):
    sources = catalogue(min_interval=np.zeros(200), max_age=np.full(200, np.inf))
    found = prospect(sources, budget, precision=1e-12)
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


class Planner:
    """A policy that gives every source the square root of its change rate, whatever else it is worth."""

    change = np.array([1.0, 4.0, 9.0, 16.0]) / 86400

    def beliefs(self, ids):
        rate = self.change[ids]
        return Beliefs(1 / rate, 0.1 / rate, rate, 0.1 * rate)

    def intervals(self, ids, price):
        return price / np.sqrt(self.change[ids])


def seen(policy):
    sources = [Source(id=10 + k, url=f"https://{k}.example/") for k in range(4)]
    progress = [Progress(source=10 + k, last=1e9 if k != 2 else None) for k in range(4)]
    return believed(Ranking(policy, {10 + k: k for k in range(4)}), sources, progress, Config())


def test_the_policy_itself_says_how_often_it_would_fetch():
    sources = seen(Planner())
    assert sources.known.tolist() == [True, True, False, True]
    found = prospect(sources, 7e-4)
    assert found.spend == pytest.approx(7e-4, rel=1e-5)
    assert (found.interval[0] / found.interval[[1, 3]]).tolist() == pytest.approx([2.0, 4.0])
    assert found.interval[[0, 1, 3]].tolist() == pytest.approx(
        [found.price / math.sqrt(each / 86400) for each in (1.0, 4.0, 16.0)]
    )


def test_what_is_visible_late_is_captured_as_far_as_it_is_left():
    share = np.where(np.arange(200) % 2, 0.5, 1.0)
    plain, late = prospect(catalogue(), 0.01), prospect(catalogue(visible=share), 0.01)
    assert late.captures == pytest.approx(share * plain.captures)
    assert late.inflow == plain.inflow, "there is as much to capture"


def test_the_usual_maximum_age_is_stretched_where_the_budget_is_short_of_it():
    sources = catalogue(usual=np.arange(200) >= 50, rounds=4.0)
    floors = sources.longest(1e-4)
    assert (floors[:50] == 30 * 86400.0).all()
    assert floors[50:] == pytest.approx(4.0 * sources.cost.sum() / 1e-4)
    assert (sources.longest(10.0) == 30 * 86400.0).all()
    found = prospect(sources, 1e-3)
    assert found.price < math.inf
    assert found.spend == pytest.approx(1e-3, rel=1e-5)


def test_where_the_policy_knows_no_price_nothing_is_said():
    class Timer:
        def beliefs(self, ids):
            return Beliefs(*(np.ones(len(ids)) for _ in range(4)))

    found = prospect(seen(Timer()), 0.1)
    assert (found.captured, found.spend, found.unworthy) == (0.0, 0.0, 0)


def test_a_hundred_thousand_sources_are_compared_at_once():
    sources = catalogue(100_000)
    prospect(catalogue(10), 0.1)
    began = time.process_time()
    compare(sources, [1.0, 10.0])
    assert time.process_time() - began < 5.0
