"""What another budget would change: the catalogue at rest at each budget, counted by the policy that runs.

It says how long it would leave each source alone at a price, as it does when a fleet's shards are asked for their
demand; the price at which a budget is spent follows. It answers from what is believed now: sources nobody has fetched
yet are left out and counted, and so is everything where the policy knows no price. Only fetches of sources are counted;
robots.txt, redirects and retries also spend budget, so a real crawler does a little less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from recrawl.config import Config
from recrawl.crawl.explaining.ranking import Ranking
from recrawl.kernels.cadence import at_rest, captured_per_time, median_delay
from recrawl.kernels.indexing_engine import even_batch_share, visible_share
from recrawl.kernels.worth import decay_of
from recrawl.policies.contract import Priced
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.store.records import Progress, Source
from recrawl.store.source_terms import Defaults, EffectiveOptions

PRECISION = 1e-6
"""By how much a spend may miss its budget, as a share of it."""
SLOWEST = 1e-12
"""Arrivals a second that are told from none."""


@dataclass(frozen=True, eq=False)
class BelievedSources:
    """What is believed of every source, one element each; times in seconds.

    Parameters
        value: what it is worth once ripe, importance included; NaN where nothing is known yet
        rate: how fast it ripens, per second; NaN where nothing is known yet
        cost: tokens per fetch
        min_interval: it is not fetched more often than this
        max_age: it is fetched this often whatever it is worth; inf for no such floor
        intervals: how long the sources that are known are left alone at a price, whatever their maximum age
        usual: which have the usual maximum age, and no owner's; all of them if not said
        rounds: the usual one is not below so many rounds of the catalogue at the budget
        weight: what owners say each is worth, which `value` contains; 1 if not said
        interest: whether what is captured is interest; under freshness it is no quantity anybody knows
        visible: the share of it that is left when readers see it
    """

    value: FloatArray
    rate: FloatArray
    cost: FloatArray
    min_interval: FloatArray
    max_age: FloatArray
    intervals: Callable[[float], FloatArray]
    usual: BoolArray | bool = True
    rounds: float = 0.0
    weight: FloatArray | float = 1.0
    interest: bool = True
    visible: FloatArray | float = 1.0

    def longest(self, budget: float) -> FloatArray:
        """The maximum ages that are kept to at a budget."""
        stretched = np.maximum(self.max_age, self.rounds * float(self.cost.sum()) / budget)
        return np.where(self.usual, stretched, self.max_age)

    @property
    def known(self) -> BoolArray:
        """Which sources there are beliefs about."""
        return np.isfinite(self.value) & np.isfinite(self.rate)

    @property
    def inflow(self) -> FloatArray:
        """Interest that appears per second, if it were all seen at once: v·r, or the arrival rate where r = 0."""
        return np.where(self.rate > 0.0, self.value * self.rate, self.value)

    @property
    def arrivals(self) -> FloatArray:
        """Items or changes a second that beliefs stand for."""
        return self.inflow / self.weight if self.interest else self.rate

    def up_to_date(self, found: Prospect) -> float:
        """The share of time in which nothing new waits to be seen, the mean over all known sources.

        (1 − e^{−ΔT})/(ΔT): the share of an interval T before the first of what comes at rate Δ.
        """
        arrivals = self.arrivals
        some = np.isfinite(arrivals) & np.isfinite(found.interval) & (arrivals > 0.0)
        if not some.any():
            return math.nan
        pace = np.maximum(arrivals[some], SLOWEST)
        return float(captured_per_time(1.0 / pace, pace, found.interval[some]).mean())


def unbounded(sources: Sequence[Source]) -> list[Source]:
    """Sources as a policy is told of them for what-ifs: without maximum ages, which depend on the budget."""
    return [msgspec.structs.replace(source, max_age=math.inf) for source in sources]


def believed(
    ranking: Ranking, sources: Sequence[Source], progress: Sequence[Progress], config: Config, rounds: float = 0.0
) -> BelievedSources:
    """What a policy, told of them `unbounded`, believes of these sources, and how it would treat them.

    `progress` is in the same order; the usual maximum age is stretched to so many `rounds` of the catalogue.
    """
    value, rate = np.full(len(sources), math.nan), np.full(len(sources), math.nan)
    seen = np.array([each.last is not None for each in progress], np.bool_)
    numbers = np.array([ranking.numbers[each.source] for each in progress], np.int64)
    policy = ranking.policy
    if isinstance(policy, Priced) and seen.any():
        found = policy.beliefs(numbers[seen])
        value[seen], rate[seen] = found.value, found.rate
    known = numbers[np.isfinite(value) & np.isfinite(rate)]
    defaults = Defaults.of(config)
    terms = [each.terms(defaults) for each in sources]
    weight = np.array([each.importance for each in terms])
    return BelievedSources(
        value=value * weight,
        rate=rate,
        cost=np.array([each.cost for each in sources]),
        min_interval=np.array([max(config.politeness.min_interval_s, each.interval or 0.0) for each in terms]),
        max_age=np.array([each.interval or each.max_age_s for each in terms]),
        intervals=lambda price: policy.intervals(known, price) if isinstance(policy, Priced) else np.empty(0),
        usual=np.array([(each.interval or each.own_max_age) is None for each in terms], np.bool_),
        rounds=rounds,
        weight=weight,
        interest=config.objective != "freshness",
        visible=_visible(terms) if config.objective == "ephemeral" else 1.0,
    )


@dataclass(frozen=True, eq=False)
class Prospect:
    """The catalogue at rest at one budget; per second and in seconds, arrays over all sources (NaN: unknown).

    Parameters
        price: at which the budget is spent; 0 if it cannot all be spent, inf if it does not reach for the max ages
        spend: tokens per second
        captured: interest captured per second
        inflow: interest there is to capture per second
        delay: half of the interest that appears is seen within this
        unworthy: sources not worth a fetch at this price before their max age, looked at only because of it, if at all
        interval: time between two fetches of each source
        captures: interest captured per second from each source
    """

    budget: float
    price: float
    spend: float
    captured: float
    inflow: float
    delay: float
    unworthy: int
    interval: FloatArray
    captures: FloatArray

    @property
    def share(self) -> float:
        """Of the interest there is, how much is captured; NaN if there is none."""
        return self.captured / self.inflow if self.inflow > 0.0 else math.nan


def prospect(catalogue: BelievedSources, budget: float, guess: float = 1.0, precision: float = PRECISION) -> Prospect:
    """The catalogue at rest at `budget` tokens per second.

    It is quicker with a `guess` of the price there, and where a spend within `precision` of the budget will do.
    """
    known = catalogue.known
    value, rate, cost, inflow, shortest, longest = (
        array[known]
        for array in (
            catalogue.value, catalogue.rate, catalogue.cost, catalogue.inflow, catalogue.min_interval,
            catalogue.longest(budget),
        )
    )  # fmt: skip
    price, interval = at_rest(catalogue.intervals, budget, cost, shortest, longest, guess, precision)
    visible = np.broadcast_to(catalogue.visible, known.shape)[known]
    captures = captured_per_time(value, rate, interval) * visible
    return Prospect(
        budget=budget,
        price=price,
        spend=float((cost / interval).sum()),
        captured=float(captures.sum()),
        inflow=float(inflow.sum()),
        delay=median_delay(inflow, interval),
        unworthy=int((interval >= longest).sum()),
        interval=_over_all(interval, known),
        captures=_over_all(captures, known),
    )


def movers(before: Prospect, after: Prospect, count: int) -> IntArray:
    """The sources from which a change of budget moves most interest per second, the largest change first."""
    change = np.abs(after.captures - before.captures)
    change = np.where(np.isfinite(change), change, -math.inf)
    order = np.argsort(-change, kind="stable")[:count]
    return order[change[order] > 0.0]


def compare(catalogue: BelievedSources, budgets: Sequence[float]) -> list[Prospect]:
    """One prospect per budget, in the order given."""
    return [prospect(catalogue, budget) for budget in budgets]


def _visible(terms: Sequence[EffectiveOptions]) -> FloatArray:
    """What is left of interest once it is visible, the mean over all moments of a fetch."""
    decay = decay_of(np.array([each.half_life_s for each in terms], np.float64))
    delay = np.array([each.index_delay for each in terms], np.float64)
    batch = np.array([each.index_batch for each in terms], np.float64)
    return visible_share(decay, delay) * even_batch_share(decay, batch)


def _over_all(some: FloatArray, known: BoolArray) -> FloatArray:
    out = np.full(len(known), np.nan)
    out[known] = some
    return out
