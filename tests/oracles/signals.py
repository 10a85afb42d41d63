"""Pages with signals, played and solved the slow way: by simulation, and by policy iteration on a grid of states.

Neither knows a formula of `recrawl.kernels.signal_index` but the belief e^{−(ατ + κn)}.
"""

from __future__ import annotations

from dataclasses import dataclass

import mpmath
import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve


@dataclass(frozen=True)
class Page:
    """Δ, λ, ν and what follows from them."""

    change_rate: float
    recall: float
    false_rate: float

    @property
    def unseen(self) -> float:
        return (1.0 - self.recall) * self.change_rate

    @property
    def heard(self) -> float:
        return self.recall * self.change_rate + self.false_rate

    @property
    def step(self) -> float:
        return float(np.log(self.heard / self.false_rate))


def published(page: Page, age: float, signals: int) -> float:
    """W − e^{−αι}ψ with W and ψ as they are written, in 50 digits."""
    with mpmath.workdps(50):
        change_rate, recall, false_rate = map(mpmath.mpf, (page.change_rate, page.recall, page.false_rate))
        unseen, heard = (1 - recall) * change_rate, recall * change_rate + false_rate
        per_signal = mpmath.log(heard / false_rate) / unseen
        effective, both = age + per_signal * signals, change_rate + false_rate
        fresh = length = mpmath.mpf(0)
        for n in range(int(mpmath.floor(effective / per_signal)) + 1):
            rest = effective - n * per_signal
            fresh += false_rate**n / both ** (n + 1) * mpmath.gammainc(n + 1, 0, both * rest, regularized=True)
            length += mpmath.gammainc(n + 1, 0, heard * rest, regularized=True) / heard
        return float(fresh - mpmath.exp(-unseen * effective) * length)


def cycles(page: Page, level: float, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and fresh parts of cycles that end when ατ + κn reaches `level`: changes and signals drawn one by one."""
    random = np.random.default_rng(seed)
    time, staleness = np.zeros(count), np.zeros(count)
    changed, running = np.full(count, np.inf), np.ones(count, dtype=bool)
    kinds = np.array([page.unseen, page.recall * page.change_rate, page.false_rate])
    while running.any():
        wait = random.exponential(1.0 / kinds.sum(), count)
        kind = random.choice(3, count, p=kinds / kinds.sum())
        left = (level - staleness) / page.unseen
        ends = running & (wait >= left)
        time[ends] += left[ends]
        running &= ~ends
        time[running] += wait[running]
        staleness[running] += page.unseen * wait[running]
        new = running & (kind < 2)
        changed[new] = np.minimum(changed[new], time[new])
        staleness[running & (kind > 0)] += page.step
        running &= staleness < level
    return time, np.minimum(time, changed)


def solved(stay: np.ndarray, flow: np.ndarray, reward: np.ndarray, price: float) -> np.ndarray:
    """Value of waiting minus that of crawling in each state of the best policy: policy iteration, average reward.

    A step of waiting earns `flow` and moves by `stay`; a crawl earns `reward` − `price` and is at once followed by a
    step of waiting from state 0.
    """
    count = len(flow)
    crawl = np.zeros(count, dtype=bool)
    crawl[-1] = True
    for _ in range(100):
        # value[0] = 0; the unknown in its place is the gain per step
        system = np.eye(count) - np.where(crawl[:, None], 0.0, stay)
        system[:, 0] = np.where(crawl, 0.0, 1.0)
        right = np.where(crawl, reward - price, flow)
        value = spsolve(csc_array(system), right)  # sparse: dense solvers fight over the cores
        gain, value[0] = value[0], 0.0
        advantage = flow - gain + stay @ value - (reward - price)
        better = advantage < 0.0
        better[0], better[-1] = False, True
        if (better == crawl).all():
            return advantage
        crawl = better
    raise AssertionError("policy iteration did not settle")


def indifference(stay: np.ndarray, flow: np.ndarray, reward: np.ndarray, state: int, most: float) -> float:
    """The price between 0 and `most` at which waiting and crawling are worth the same in a state."""
    return float(brentq(lambda price: solved(stay, flow, reward, price)[state], 0.0, most, rtol=1e-6))


def belief_chain(page: Page, states: int, per_step: int) -> tuple[np.ndarray, float]:
    """Moves of ℓ on a grid with `per_step` points to a signal's κ; and the time a move takes."""
    wide = page.step / per_step
    seconds = wide / page.unseen
    stay = np.zeros((states, states))
    chance = np.exp(-page.heard * seconds)
    for signals in range(20):
        landing = np.minimum(np.arange(states) + 1 + signals * per_step, states - 1)
        stay[np.arange(states), landing] += chance
        chance *= page.heard * seconds / (signals + 1)
    return stay, seconds


def worth_chain(page: Page, decay: float, points: np.ndarray, seconds: float) -> np.ndarray:
    """Moves in a short time of the expected worth of news that fade; a landing between two points is shared out."""
    count, trust = len(points), page.recall * page.change_rate / page.heard
    rate = page.unseen + decay
    top = page.unseen / rate
    stay, chance = np.zeros((count, count)), np.exp(-page.heard * seconds)
    for signals in range(4):
        later = top + (points - top) * np.exp(-rate * seconds)
        landing = np.clip(1.0 - (1.0 - later) * (1.0 - trust) ** signals, 0.0, points[-1])
        k = np.clip(np.searchsorted(points, landing), 1, count - 1)
        share = (landing - points[k - 1]) / (points[k] - points[k - 1])
        stay[np.arange(count), k] += chance * share
        stay[np.arange(count), k - 1] += chance * (1.0 - share)
        chance *= page.heard * seconds / (signals + 1)
    return stay


def fading_cycles(page: Page, decay: float, start: float, worth: float, count: int, seed: int) -> tuple[float, float]:
    """Mean length and mean worth of cycles from `start` that end when X rises to `worth`."""
    random = np.random.default_rng(seed)
    rate, trust = page.unseen + decay, page.recall * page.change_rate / page.heard
    top = page.unseen / rate
    time, now, running = np.zeros(count), np.full(count, start), np.ones(count, dtype=bool)
    while running.any():
        wait = random.exponential(1.0 / page.heard, count)
        left = np.full(count, np.inf)
        if worth < top:
            left = np.where(now < worth, np.log((top - now) / (top - worth)) / rate, 0.0)
        ends = running & (wait >= left)
        time[ends] += left[ends]
        now[ends] = worth
        running &= ~ends
        time[running] += wait[running]
        landed = top + (now - top) * np.exp(-rate * wait)
        now[running] = (landed + trust * (1.0 - landed))[running]
        running &= now < worth
    return float(time.mean()), float(now.mean())
