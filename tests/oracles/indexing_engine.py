"""An indexing engine, played item by item, and solved by policy iteration on a grid of states.

Neither knows a formula of `recrawl.kernels`: what a crawl is worth is summed over items, each at the moment it becomes
visible.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import spsolve

DISCOUNT = 1.0 - 1e-7
"""Of a step: so near to 1 that the best policy is that of the average."""


def seen_worth(crawls: np.ndarray, decay: float, visible: Callable[[np.ndarray], np.ndarray], step: float) -> float:
    """Interest captured by crawls in order, one item of interest 1 every `step` from 0 on, each worth what it is worth
    when it is visible."""
    born = np.arange(0.5 * step, crawls[-1], step)
    seen = np.searchsorted(crawls, born, side="left")
    return float(np.exp(-decay * (visible(crawls)[seen] - born)).sum())


def worth_of_gap(gap: float, decay: float, pieces: int = 2000) -> float:
    """What the items of a gap are worth at its end, one a time unit of interest 1, by adding them up."""
    ages = (np.arange(pieces) + 0.5) * gap / pieces
    return float(np.exp(-decay * ages).sum() * gap / pieces)


def kept_of_gap(gap: float, decay: float, engine_price: float, pieces: int = 2000) -> float:
    """The same, less the price of indexing those that are worth it."""
    ages = (np.arange(pieces) + 0.5) * gap / pieces
    return float(np.maximum(np.exp(-decay * ages) - engine_price, 0.0).sum() * gap / pieces)


def best_crawls(reward: np.ndarray) -> np.ndarray:
    """Whether to crawl in each state (phase, age), by policy iteration; `reward` is that of a crawl there.

    A step takes the phase one on, round and round, and the age one up to the last; a crawl sets the age to the first.
    """
    phases, ages = reward.shape
    phase, age = (each.ravel() for each in np.indices(reward.shape))
    follow = (phase + 1) % phases
    waits, crawled = follow * ages + np.minimum(age + 1, ages - 1), follow * ages
    gain, crawl = reward.ravel(), np.zeros(reward.size, bool)
    states = np.arange(reward.size)
    while True:
        after = np.where(crawl, crawled, waits)
        moves = csc_array((np.full(reward.size, DISCOUNT), (states, after)), (reward.size, reward.size))
        value = spsolve((eye_array(reward.size) - moves).tocsc(), np.where(crawl, gain, 0.0))
        waiting, crawling = DISCOUNT * value[waits], gain + DISCOUNT * value[crawled]
        better = np.where(crawl, crawling >= waiting - 1e-9, crawling > waiting + 1e-9)
        if (better == crawl).all():
            return crawl.reshape(reward.shape)
        crawl = better


def crawls_made(crawl: np.ndarray, steps: int) -> list[tuple[int, int]]:
    """The phases and ages (in steps, from 1) at which a policy crawls, from a fresh source on."""
    made, age = [], 0
    for step in range(steps):
        phase = step % len(crawl)
        if crawl[phase, age]:
            made.append((phase, age + 1))
            age = 0
        else:
            age = min(age + 1, crawl.shape[1] - 1)
    return made
