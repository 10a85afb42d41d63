"""LSPE(0) with soft thresholds as a policy [allerton2019, §III–V]; the mathematics is in `learning.lspe`.

The learner sees the worth of every source; where it is not observed it takes the expected worth (2)–(3), which needs
the same parameters as the projection of the thresholds to [u, u*]. One call of `choose` is one slot: it closes the
slot before (its state, what was crawled in it, the state now), then decides.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.kernels.soft_threshold import crawl_probabilities, thresholds
from recrawl.learning.lspe import (
    HARMONIC_STEPS,
    PAPER_STEPS,
    PLAIN,
    SHERMAN_MORRISON,
    TIKHONOV,
    Learner,
    Settings,
    learn_transition,
    new_learner,
)
from recrawl.policies.base import RankedPolicy
from recrawl.policies.soft_threshold import worth_now
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits, checked

INVERSES = {"plain": PLAIN, "sherman_morrison": SHERMAN_MORRISON, "tikhonov": TIKHONOV}
STEPS = {"paper": PAPER_STEPS, "harmonic": HARMONIC_STEPS}
MOST_SOURCES = 20
Inverse = Literal["plain", "sherman_morrison", "tikhonov"]
Steps = Literal["paper", "harmonic"]


class Lspe(RankedPolicy):
    """Learns thresholds by LSPE(0) and crawls by them; defaults are those of [allerton2019, §V] where it states them.

    Parameters
        budget: "soft" crawls each source with its own probability, as the paper does; "hard" the top of x_i − T_i
        reward: "printed" Σ X_i, or "collected" Σ ν_i X_i
        sharpness: κ, one or per source
        critic_gain: γ
        inverse: how B̄⁻¹ is applied: "tikhonov", "sherman_morrison" or "plain"
        regularisation: δ of the Tikhonov form, in units of B̄²
        epsilon: ε, with B̄(0) = εI
        critic_steps, actor_steps: "paper" or "harmonic"
        step_gain: c of the paper's steps, in (0, 1)
        actor_step_gain: c of the actor's steps; None for `step_gain`
        initial: where thresholds start between u (0) and u* (1): one share, one per source, or "random"
        project: whether thresholds are kept in [u, u*]
        unit: worths are divided by this before anything else; with κ and the offset ½ fixed the unit matters
    """

    needs_sources: ClassVar[bool] = True

    def __init__(
        self,
        budget: Literal["soft", "hard"] = "soft",
        reward: Literal["printed", "collected"] = "printed",
        sharpness: npt.ArrayLike = 2.0,
        critic_gain: float = 0.05,
        inverse: Inverse = "tikhonov",
        regularisation: float = 1e-3,
        epsilon: float = 1.0,
        critic_steps: Steps = "paper",
        actor_steps: Steps = "paper",
        step_gain: float = 0.5,
        actor_step_gain: float | None = None,
        initial: npt.ArrayLike | Literal["random"] = 0.5,
        project: bool = True,
        unit: float = 1.0,
        seed: int | tuple[int, ...] = 0,
    ) -> None:
        super().__init__(seed)
        _one_of("budget", budget, ("soft", "hard"))
        _one_of("reward", reward, ("printed", "collected"))
        _one_of("inverse", inverse, tuple(INVERSES))
        _one_of("critic_steps", critic_steps, tuple(STEPS))
        _one_of("actor_steps", actor_steps, tuple(STEPS))
        self.soft_budget = budget == "soft"
        self.collected = reward == "collected"
        self.sharpness = checked("sharpness", sharpness, "finite and > 0", open_low=True)
        self.critic_gain = _positive("critic_gain", critic_gain)
        self.inverse = inverse
        self.regularisation = _positive("regularisation", regularisation)
        self.epsilon = _positive("epsilon", epsilon)
        self.critic_steps, self.actor_steps = critic_steps, actor_steps
        if not 0.0 < step_gain < 1.0:
            raise ParameterError("step_gain", "in (0, 1)", step_gain)
        self.step_gain = float(step_gain)
        self.actor_step_gain = (
            self.step_gain if actor_step_gain is None else _positive("actor_step_gain", actor_step_gain)
        )
        self.initial: FloatArray | None = None
        if not (isinstance(initial, str) and initial == "random"):
            self.initial = checked("initial", initial, "'random' or shares in [0, 1]", high=1.0)
        self.project = bool(project)
        self.unit = _positive("unit", unit)

    @property
    def thresholds(self) -> FloatArray:
        """The thresholds in the state of the last slot, in worth."""
        return self._thresholds(self.worth) * self.unit

    @property
    def broke_at(self) -> int | None:
        """The transition whose update was not finite, after which nothing more was learnt; None if there was none."""
        return int(self.learner.counts[1]) or None

    def begin(self, now: float) -> None:
        """Every source crawled one slot ago; nothing learnt."""
        assert self.sources is not None
        self.last = np.full(len(self.last), now - 1.0)
        self.settings = self.settings_for(self.sources)
        self.learner = self.learner_for(self.sources)
        self.worth = np.zeros(len(self.last))
        self.crawled = np.zeros(len(self.last), dtype=bool)
        self.decided: BoolArray | None = None

    def settings_for(self, sources: Sources) -> Settings:
        """The options as compiled code takes them."""
        targets = len(sources)
        if targets > MOST_SOURCES:
            raise ParameterError("targets", f"at most {MOST_SOURCES}: the critic has N(N + 3)/2 features", targets)
        everything = np.full(targets, np.inf)
        return Settings(
            _per_source("sharpness", self.sharpness, targets),
            sources.inflow / self.unit if self.project else -everything,
            sources.ceiling / self.unit if self.project else everything,
            self.critic_gain,
            INVERSES[self.inverse],
            self.regularisation,
            self.collected,
            STEPS[self.critic_steps],
            self.step_gain,
            STEPS[self.actor_steps],
            self.actor_step_gain,
        )

    def learner_for(self, sources: Sources) -> Learner:
        """A fresh learner; a random start takes one number per source from the policy's stream."""
        share = self.random.random(len(sources)) if self.initial is None else self.initial
        start = sources.inflow + _per_source("initial", share, len(sources)) * (sources.ceiling - sources.inflow)
        return new_learner(start / self.unit, self.epsilon)

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """Learn from the slot before, then crawl: each source by its probability, or the top of the ranking."""
        now, budget, observed = self.question(now, budget, states)
        worth = self._worths(now, observed)
        if self.decided is not None:
            learn_transition(self.learner, self.settings, self.worth, self.crawled, self.decided, worth)
        self.worth, self.decided = worth, self.allowed(now)
        self.crawled[:] = False
        return super().choose(now, budget, states)

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """x_i − T_i, the worth above the threshold; with a soft budget only of the sources that were drawn."""
        threshold = self._thresholds(self.worth)
        margin = self.worth - threshold
        if not self.soft_budget:
            return margin
        probability = crawl_probabilities(self.worth, threshold, self.settings.sharpness)
        return np.where(self.random.random(len(margin)) < probability, margin, -np.inf)

    def learn(self, visits: Visits) -> None:
        """Note what was crawled in this slot."""
        done = visits.ids if visits.failed is None else visits.ids[~visits.failed]
        self.crawled[done] = True

    def _thresholds(self, worth: FloatArray) -> FloatArray:
        return np.asarray(thresholds(self.learner.threshold_parameters, worth, self.settings.low, self.settings.high))

    def _worths(self, now: float, observed: FloatArray | None) -> FloatArray:
        """Worths in the learner's unit, expected where they are not observed."""
        assert self.sources is not None
        return worth_now(self.sources, now - self.last, observed) / self.unit


def _one_of(argument: str, value: object, names: tuple[str, ...]) -> None:
    if value not in names:
        raise ParameterError(argument, f"one of {', '.join(map(repr, names))}", repr(value))


def _positive(argument: str, value: float) -> float:
    return float(checked(argument, value, "a finite number > 0", open_low=True))


def _per_source(argument: str, value: FloatArray, targets: int) -> FloatArray:
    if value.shape not in ((), (targets,)):
        raise ParameterError(argument, f"one, or one per source ({targets})", f"shape {value.shape}")
    return np.ascontiguousarray(np.broadcast_to(value, targets), dtype=np.float64)
