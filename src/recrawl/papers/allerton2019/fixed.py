"""What a soft threshold policy earns when it learns nothing: constant thresholds, exactly.

With constant T_i the sources do not see each other. Source i is crawled k slots after its last crawl with probability
f_i(x_k), so crawls are renewals, and it earns E[x_K]/E[K] per slot where P(K > k) = Π_{j ≤ k}(1 − f_i(x_j)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recrawl.kernels.slotted_index import worth_after
from recrawl.kernels.soft_threshold import crawl_probabilities
from recrawl.records import FloatArray, Sources

# Ages are followed until a source still waiting is rarer than this.
NEGLIGIBLE = 1e-15
MOST_SLOTS = 1_000_000


@dataclass(frozen=True)
class FixedThresholds:
    """Worth collected and sources crawled per slot."""

    reward: float
    engaged: float


def fixed_thresholds(sources: Sources, share: float, sharpness: float, unit: float) -> FixedThresholds:
    """The long-run averages with every T_i at `share` of the way from u_i to u_i*, worths measured in `unit`."""
    start = sources.inflow + share * (sources.ceiling - sources.inflow)
    per_source = [_renewal(sources, i, start[i], sharpness, unit) for i in range(len(sources))]
    return FixedThresholds(sum(r for r, _ in per_source), sum(e for _, e in per_source))


def _renewal(sources: Sources, i: int, threshold: float, sharpness: float, unit: float) -> tuple[float, float]:
    waiting, slots, collected, k = 1.0, 0.0, 0.0, 0
    rate, ceiling, lifetime = sources.decay_rate[i], sources.unbounded_ceiling[i], sources.exact_lifetime[i]
    while waiting > NEGLIGIBLE and k < MOST_SLOTS:
        k += 1
        worth = worth_after(min(k, lifetime), rate, ceiling)
        crawl = crawl_probabilities(_one(worth / unit), _one(threshold / unit), _one(sharpness))[0]
        slots += waiting
        collected += waiting * crawl * worth
        waiting *= 1.0 - crawl
    return collected / slots, 1.0 / slots


def _one(value: float) -> FloatArray:
    return np.array([value])
