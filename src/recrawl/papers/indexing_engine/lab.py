"""Catalogues that meet an indexing engine, and what policies capture there, in expectation.

Everything is a share of the interest there is. Half-lives are log-normal about 1, the unit of time, with a spread σ
that is varied; the interest that appears per time is log-normal with σ = 1, and every crawl costs 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from recrawl.kernels.cadence import spending_price
from recrawl.kernels.continuous_index import continuous_index, crossing_age
from recrawl.kernels.indexing_engine import indexed_age, visible_share
from recrawl.kernels.worth import decay_of
from recrawl.records import FloatArray

PACE = 0.2
"""Crawls per source and time unit."""
WORTH_SIGMA = 1.0
LONGEST = 200.0
"""Between two crawls of a source that is crawled at all, where crawls are saved for batches."""
SLOTS = 12
"""Moments per batch at which crawls are made."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Interest that appears per time, and the decay, of each source."""

    inflow: FloatArray
    decay: FloatArray

    @classmethod
    def drawn(cls, seed: int, spread: float, size: int = 120) -> Catalogue:
        """From the law above."""
        random = np.random.default_rng(seed)
        inflow = np.exp(WORTH_SIGMA * random.standard_normal(size))
        return cls(inflow, decay_of(np.exp(spread * random.standard_normal(size))))

    @property
    def value(self) -> FloatArray:
        """What each source is worth once ripe."""
        return self.inflow / self.decay

    @property
    def budget(self) -> float:
        """Crawls per time."""
        return PACE * len(self.decay)


def one_price(catalogue: Catalogue, value: FloatArray) -> tuple[float, FloatArray]:
    """The price at which crawls by the index at these values spend the budget, and the time between those of each."""

    def gaps(price: float) -> FloatArray:
        return np.asarray(crossing_age(value, catalogue.decay, price))

    price = spending_price(lambda price: float((1.0 / gaps(price)).sum()), catalogue.budget)
    return price, gaps(price)


def captured_late(
    catalogue: Catalogue,
    delay: float,
    knows: bool,
    left: Callable[[FloatArray, float], FloatArray] = visible_share,
) -> float:
    """The share captured by crawls at one price, if finds are visible `delay` later, and the policy knows so or not.

    `left` is what is left of a worth by decay and delay: by a fixed delay, or in the mean by a random one.
    """
    share = left(catalogue.decay, delay)
    gap = one_price(catalogue, catalogue.value * (share if knows else 1.0))[1]
    worth = share * catalogue.value * -np.expm1(-catalogue.decay * gap) / gap
    return float(worth.sum() / catalogue.inflow.sum())


# -- batches


@dataclass(eq=False)
class Moment:
    """A moment between two batches: who was crawled when, how long until the batch, and which moment of it it is."""

    catalogue: Catalogue
    batch: float
    left: float
    place: int
    age: FloatArray

    def index(self, later: float = 0.0) -> FloatArray:
        """e^{−μx}·g, now or later, if there is no crawl before."""
        own = self.catalogue
        plain = np.asarray(continuous_index(own.value, own.decay, self.age + later))
        return visible_share(own.decay, self.left - later) * plain


class Ignoring:
    """The index as if finds were visible at once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    def scores(self, at: Moment) -> FloatArray:
        """Of each source."""
        return np.asarray(continuous_index(at.catalogue.value, at.catalogue.decay, at.age))

    def paid(self, at: Moment, price: float) -> None:
        """Learns nothing."""


class Waiting(Ignoring):
    """The index times what is left at the next batch: the one that runs live."""

    def scores(self, at: Moment) -> FloatArray:
        """Of each source."""
        return at.index()


class PricedMoments(Ignoring):
    """A price for each moment between batches: by how much crawling now beats the best later moment of the batch.

    Prices follow by dual descent what the last crawl at each moment was worth beyond its own.
    """

    STEP = 0.1

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self.prices: FloatArray = np.full(SLOTS, one_price(catalogue, catalogue.value)[0])

    def scores(self, at: Moment) -> FloatArray:
        """Of each source."""
        later, step = np.zeros(len(at.age)), at.batch / SLOTS
        for place in range(at.place + 1, SLOTS):
            later = np.maximum(later, at.index((place - at.place) * step) - self.prices[place])
        return at.index() - self.prices[at.place] - later

    def paid(self, at: Moment, price: float) -> None:
        """The last crawl had this score."""
        self.prices[at.place] = max(self.prices[at.place] + self.STEP * price, 0.0)


EVEN = {"ignoring": Ignoring, "waiting": Waiting, "priced": PricedMoments}
"""Policies that spend the budget evenly over time."""


def captured_in_batches(catalogue: Catalogue, batch: float, make: type[Ignoring], batches: int) -> float:
    """The share captured over the second half, with crawls spread evenly over the moments of each batch."""
    policy = make(catalogue)
    age, owed, worth, step = np.ones(len(catalogue.decay)), 0.0, 0.0, batch / SLOTS
    for number in range(batches * SLOTS):
        place = number % SLOTS
        at = Moment(catalogue, batch, (SLOTS - 1 - place) * step, place, age)
        owed += catalogue.budget * step
        count, scores = min(int(owed), len(age)), policy.scores(at)
        owed -= count
        if count:
            top = np.argsort(-scores, kind="stable")[:count]
            policy.paid(at, float(scores[top[-1]]))
            if number >= batches // 2 * SLOTS:
                left = visible_share(catalogue.decay, at.left)
                worth += float((left * catalogue.value * -np.expm1(-catalogue.decay * age))[top].sum())
            age[top] = 0.0
        age = age + step
    return worth / ((batches - batches // 2) * batch * float(catalogue.inflow.sum()))


def captured_by_saving(catalogue: Catalogue, batch: float) -> float:
    """The share captured where all crawls of a batch are made right before it: slots of its length, at one price.

    γ_k = x_k − k(x_{k+1} − x_k) is Theorem 1 on the orbit; between whole numbers of batches some come one later.
    """
    most = math.ceil(LONGEST / batch)
    counts = np.arange(1, most + 1)[:, None]
    worth = catalogue.value * -np.expm1(-catalogue.decay * batch * counts)
    more = catalogue.value * -np.expm1(-catalogue.decay * batch * (counts + 1))
    index = np.maximum.accumulate(worth - counts * (more - worth), axis=0)
    # Passive one batch longer at each price passed: order all steps by price, and spend from the dearest on.
    spend = 1.0 / counts[:-1] - 1.0 / counts[1:]
    gain = worth[:-1] / counts[:-1] - worth[1:] / counts[1:]
    order = np.argsort(-index[:-1], axis=None)
    spends = np.cumsum(np.broadcast_to(spend, gain.shape).ravel()[order]) + len(catalogue.decay) / most
    gains = np.cumsum(gain.ravel()[order]) + float((worth[-1] / most).sum())
    total = np.interp(catalogue.budget * batch, spends, gains)
    return float(total) / (batch * float(catalogue.inflow.sum()))


# -- capacity


def captured_within(catalogue: Catalogue, room: float) -> dict[str, float]:
    """The share captured if the engine takes only `room` of all items, which are of interest 1 when they appear.

    "chance": crawls know nothing of it, and it takes any of what they bring; "choosy": it takes what is worth most;
    "two prices": and crawls know its price, the best there is.
    """
    total = float(catalogue.inflow.sum())
    gap = one_price(catalogue, catalogue.value)[1]
    brought = float(catalogue.inflow[np.isfinite(gap)].sum()) / total
    whole = _taken(catalogue, gap, 1e-300)[0]
    low, high = 1e-12, 1.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _taken(catalogue, gap, middle)[1] > room else (low, middle)
    return {
        "chance": whole * min(room / brought, 1.0),
        "choosy": whole if brought <= room else _taken(catalogue, gap, high)[0],
        "two prices": _two_prices(catalogue, room * total) / total,
    }


def _taken(catalogue: Catalogue, gap: FloatArray, engine_price: float) -> tuple[float, float]:
    """Interest and items, as shares of all, if of what crawls bring everything is indexed that is worth a price."""
    some = np.isfinite(gap)
    inflow, decay, gap = catalogue.inflow[some], catalogue.decay[some], gap[some]
    kept = np.minimum(gap, indexed_age(1.0, decay, engine_price))
    total = float(catalogue.inflow.sum())
    return float((inflow / decay * -np.expm1(-decay * kept) / gap).sum()) / total, float(
        (inflow * kept / gap).sum()
    ) / total


def _two_prices(catalogue: Catalogue, room: float) -> float:
    """The least of the dual function: what nobody exceeds, and randomising between two gaps attains.

    With λ the price of a crawl, κ that of an item and τ(λ) the age at which the index is λ, a source gains
    Λ(e^{−μτ} − κ)⁺ per time, whether or not the engine has a price: the index is the same up to A.
    """

    def dual(log_price: float) -> float:
        price = math.exp(log_price)
        edge = np.exp(-catalogue.decay * np.asarray(crossing_age(catalogue.value, catalogue.decay, price)))
        order = np.argsort(-edge)
        filled = np.cumsum(catalogue.inflow[order])
        place = int(np.searchsorted(filled, room))
        engine_price = float(edge[order[place]]) if place < len(order) else 0.0
        gains = catalogue.inflow * np.maximum(edge - engine_price, 0.0)
        return price * catalogue.budget + engine_price * room + float(gains.sum())

    top = math.log(float(catalogue.value.max()))
    return float(minimize_scalar(dual, bounds=(top - 40.0, top), method="bounded", options={"xatol": 1e-6}).fun)
