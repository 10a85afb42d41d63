"""Many runs of the learner, compiled whole: the same world, the same learning step and the same draws as the policy."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.soft_threshold import crawl_probabilities, thresholds
from recrawl.learning.lspe import Learner, Settings, learn_transition
from recrawl.policies.lspe import Lspe
from recrawl.records import BoolArray, FloatArray, IntArray, Sources
from recrawl.sim.noise import Inflow, Noise, inflow_room
from recrawl.sim.randomness import Streams, streams
from recrawl.sim.worlds import Dynamics, advance, dynamics_of

TRACE_EVERY = 50


@dataclass(frozen=True, eq=False)
class LearnerRuns:
    """What some runs of the learner brought.

    Parameters
        rewards: worth collected, one row per run, one column per slot
        engaged: number of sources crawled, likewise
        thresholds: the thresholds every `TRACE_EVERY` slots: run, moment, source
        undecided: the share of all decisions with a crawl probability in (0.01, 0.99); elsewhere (8) is nearly 0
        broke_at: the transition at which a run's numbers stopped being finite, 0 where they did not
    """

    rewards: FloatArray
    engaged: IntArray
    thresholds: FloatArray
    undecided: FloatArray
    broke_at: IntArray

    @property
    def reward_per_run(self) -> FloatArray:
        """Worth collected per slot in each run."""
        mean: FloatArray = self.rewards.mean(axis=1)
        return mean

    @property
    def engaged_per_run(self) -> FloatArray:
        """Sources crawled per slot in each run."""
        mean: FloatArray = self.engaged.mean(axis=1)
        return mean

    @property
    def dispersion_per_run(self) -> FloatArray:
        """The standard deviation, from slot to slot, of the number of sources crawled in each run."""
        spread: FloatArray = self.engaged.std(axis=1)
        return spread


@njit(cache=True)
def _soft_choice(probability: FloatArray, draw: FloatArray, crawled: BoolArray) -> None:
    for i in range(len(crawled)):
        crawled[i] = draw[i] < probability[i]


@njit(cache=True)
def _hard_choice(margin: FloatArray, active: int, crawled: BoolArray) -> None:
    """The `active` largest margins, ties to the lowest id."""
    for i in range(len(margin)):
        crawled[i] = False
    for _ in range(active):
        best = -1
        for i in range(len(margin)):
            if not crawled[i] and (best < 0 or margin[i] > margin[best]):
                best = i
        crawled[best] = True


@njit(cache=True, nogil=True)
def run_learner(
    learner: Learner,
    settings: Settings,
    dynamics: Dynamics,
    stream: Streams,
    room: Inflow,
    draws: FloatArray,
    active: int,
    unit: float,
    reward: FloatArray,
    engaged: IntArray,
    trace: FloatArray,
) -> float:
    """One run; `draws` decide a soft budget, `active` > 0 makes it hard. Fills reward, engaged and trace.

    Returns the share of decisions that were not all but certain.
    """
    n = len(dynamics.keep)
    worth, history = np.zeros(n), np.zeros((dynamics.rows, n))
    last = np.full(n, -1)
    before = np.zeros(n)
    crawled, decided = np.zeros(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
    open_decisions = 0
    for slot in range(len(reward)):
        advance(dynamics, worth, slot, last, history, stream, room)
        x = worth / unit
        if slot > 0:
            learn_transition(learner, settings, before, crawled, decided, x)
        threshold = thresholds(learner.threshold_parameters, x, settings.low, settings.high)
        probability = crawl_probabilities(x, threshold, settings.sharpness)
        if active > 0:
            _hard_choice(x - threshold, active, crawled)
        else:
            _soft_choice(probability, draws[slot], crawled)
        before = x
        for i in range(n):
            if 0.01 < probability[i] < 0.99:
                open_decisions += 1
            if slot % TRACE_EVERY == 0:
                trace[slot // TRACE_EVERY, i] = threshold[i] * unit
            if crawled[i]:
                reward[slot] += worth[i]
                engaged[slot] += 1
                worth[i] = 0.0
                last[i] = slot
    return open_decisions / (len(reward) * n)


def run_many(
    sources: Sources, policy: Lspe, steps: int, runs: int, seed: int = 0, noise: Noise = None, active: int = 1
) -> LearnerRuns:
    """Run r is `recrawl.simulate(sources, policy, budget=active, observed=True)`'s run r, for sources of cost 1."""
    n = len(sources)
    dynamics = dynamics_of(sources, noise)
    rewards, engaged = np.zeros((runs, steps)), np.zeros((runs, steps), dtype=np.int64)
    trace = np.zeros((runs, -(-steps // TRACE_EVERY), n))
    undecided, broke = np.zeros(runs), np.zeros(runs, dtype=np.int64)

    def go(run: int) -> None:
        actor = policy.spawn(run)
        actor.start(n, 0.0, sources=sources)
        draws = actor.random.random((steps if actor.soft_budget else 0, n))
        undecided[run] = run_learner(
            actor.learner,
            actor.settings,
            dynamics,
            streams(seed, run, n),
            inflow_room(n),
            draws,
            0 if actor.soft_budget else active,
            actor.unit,
            rewards[run],
            engaged[run],
            trace[run],
        )
        broke[run] = actor.learner.counts[1]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(go, range(runs)))
    return LearnerRuns(rewards, engaged, trace, undecided, broke)
