"""The stochastic index three ways, side by side with stated errors [tcns2018, §VIII].

The renewal form, the stochastic approximation (32) and the two-time-scale scheme (33)–(35) share nothing but the grid
and the law of the inflow. Where they agree within their errors, the index and the corrections to the printed equations
are confirmed. The errors: for the renewal form, the change when the grid is made twice as fine; for the learning
schemes, the standard error over replications together with the change when they are given half the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from recrawl.kernels.inflow_chain import InflowLaw, grid, inflow_law
from recrawl.kernels.stochastic_approximation import NODES, approximated_index, two_time_scale_index
from recrawl.kernels.stochastic_index import renewal_index
from recrawl.records import FloatArray

TABLE_I = ((1.0, 0.7), (0.7, 0.35), (0.2, 0.7), (0.08, 0.21))  # mean interest ξ and decay μ of each source
ARRIVALS = 250.0
SHARES = (0.3, 0.6, 0.9, 1.1)  # thresholds, as shares of the ceiling u*
LEARNERS: dict[str, Callable[..., float]] = {
    "approximation": approximated_index,
    "two_time_scale": two_time_scale_index,
}
STEPS = {"approximation": 20_000, "two_time_scale": 10_000}
# Two independent errors are compared at this many standard errors: one false alarm in 16 000 comparisons.
SIGMAS = 4.0


@dataclass(frozen=True)
class Estimate:
    """An index and its error, in units of worth per cost."""

    index: float
    error: float


@dataclass(frozen=True)
class Row:
    """One instance at one threshold: the index by each method."""

    instance: str
    share: float
    threshold: float
    renewal: Estimate
    approximation: Estimate
    two_time_scale: Estimate

    @property
    def disagreement(self) -> float:
        """The largest difference between two methods."""
        values = [e.index for e in self._estimates]
        return max(values) - min(values)

    @property
    def agrees(self) -> bool:
        """Whether every two methods differ by no more than their stated errors, and rounding, allow."""
        rounding = 1e-9 * abs(self.renewal.index)
        return all(
            abs(a.index - b.index) <= SIGMAS * math.hypot(a.error, b.error) + rounding
            for a in self._estimates
            for b in self._estimates
        )

    @property
    def _estimates(self) -> tuple[Estimate, Estimate, Estimate]:
        return self.renewal, self.approximation, self.two_time_scale


def poisson_inflows(interest: float, decay: float, size: int, seed: int, *, per_epoch: bool = False) -> FloatArray:
    """Draws of a Table I source's inflow in a slot; with one exponential interest per epoch if `per_epoch`."""
    rng = np.random.default_rng(seed)
    items = rng.poisson(ARRIVALS, size)
    slot = np.repeat(np.arange(size), items)
    left = np.exp(-decay * rng.random(len(slot)))
    content = rng.exponential(interest, size) if per_epoch else np.full(size, interest)
    return content * np.bincount(slot, weights=left, minlength=size)


def exponential_quantiles(size: int) -> FloatArray:
    """The unit exponential law as equally likely points: the mean of each of its quantile bins."""
    edges = np.linspace(0.0, 1.0, size + 1)
    left = 1.0 - edges
    # ∫ of −ln(1 − q) over a bin is (1 − q)(ln(1 − q) − 1) between its edges
    primitive = left * (np.log(left, out=np.zeros_like(left), where=left > 0.0) - 1.0)
    return np.diff(primitive) * size


def instances(size: int = 2000, seed: int = 0) -> dict[str, InflowLaw]:
    """The laws compared: constant, Table I with Poisson arrivals, exponential, and Table I with exponential epochs."""
    laws = {
        "constant, α = 0.5": inflow_law(1.0, 0.5),
        "constant, α = 0.9": inflow_law(1.0, 0.9),
        "exponential, α = 0.5": inflow_law(exponential_quantiles(size), 0.5),
    }
    for number, (interest, decay) in enumerate(TABLE_I, start=1):
        kept = math.exp(-decay)
        plain = poisson_inflows(interest, decay, size, seed + number)
        epoch = poisson_inflows(interest, decay, size, seed + 10 + number, per_epoch=True)
        laws[f"Table I source {number}, Poisson"] = inflow_law(plain, kept)
        laws[f"Table I source {number}, exponential epochs"] = inflow_law(epoch, kept)
    return laws


def by_renewal(law: InflowLaw, threshold: float, nodes: int = NODES) -> Estimate:
    """The renewal form at one threshold, on a grid that ends there."""
    coarse, fine = (float(renewal_index(law, grid(law, threshold, n))[-1]) for n in (nodes, 2 * nodes))
    return Estimate(coarse, abs(coarse - fine))


def by_learning(law: InflowLaw, threshold: float, method: str, replications: int, seed: int) -> Estimate:
    """A learning scheme at one threshold, averaged over replications."""
    learn, steps = LEARNERS[method], STEPS[method]
    seeds = range(seed, seed + replications)
    runs = np.array([learn(law, threshold, steps=steps, seed=s) for s in seeds])
    half = np.array([learn(law, threshold, steps=steps // 2, seed=s) for s in seeds])
    deviation = float(runs.std(ddof=1)) / math.sqrt(replications)
    return Estimate(float(runs.mean()), math.hypot(deviation, float(runs.mean() - half.mean())))


def agreement(
    laws: dict[str, InflowLaw] | None = None,
    shares: Sequence[float] = SHARES,
    replications: int = 8,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Row]:
    """A row per instance and threshold that the instance reaches; `progress` hears of each instance begun."""
    rows = []
    for name, law in (laws or instances()).items():
        if progress:
            progress(name)
        for share in shares:
            threshold = share * law.ceiling
            if threshold >= law.reachable:
                continue
            learnt = {method: by_learning(law, threshold, method, replications, seed) for method in LEARNERS}
            rows.append(Row(name, share, threshold, by_renewal(law, threshold), **learnt))
    return rows
