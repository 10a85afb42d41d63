"""Static optimisation: targets drawn from a fixed lottery, the best there is for known parameters [icc2021, §IV-B]."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.kernels.static_allocation import static_allocation
from recrawl.policies.base import RankedPolicy
from recrawl.records import FloatArray, IntArray, checked
from recrawl.scheduling.spending import affordable, first_of_each


class Static(RankedPolicy):
    """Crawls each target with its own fixed probability, drawn anew in every slot.

    The probabilities maximise the objective within the budget offered. All crawls of a slot come from one systematic
    draw, which gives every target exactly its probability and takes none twice. A target that may not be crawled is
    not replaced: its share of the budget stays unspent.

    Parameters
        objective: "freshness" as the paper has it, weights being importance; "collected" for what the crawls find
        pages: how many alike pages stand behind each target, of which a crawl takes one in turn
        distribution: a given probability per target (per crawl, summing to at most 1), instead of the best
    """

    needs_sources: ClassVar[bool] = True

    def __init__(
        self,
        objective: Literal["freshness", "collected"] = "freshness",
        pages: npt.ArrayLike = 1,
        distribution: npt.ArrayLike | None = None,
        seed: int | tuple[int, ...] = 0,
    ) -> None:
        super().__init__(seed)
        if objective not in ("freshness", "collected"):
            raise ParameterError("objective", "'freshness' or 'collected'", repr(objective))
        self.objective = objective
        self.pages = checked("pages", pages, "a finite number of pages >= 1", low=1.0)
        self.distribution = distribution
        if distribution is not None:
            self.distribution = checked("distribution", distribution, "a probability in [0, 1]", high=1.0)
            if self.distribution.sum() > 1 + 1e-9:
                raise ParameterError("distribution", "summing to at most 1", float(self.distribution.sum()))

    def begin(self, now: float) -> None:
        """The lottery is worked out when the first budget is known."""
        for name, value in (("pages", self.pages), ("distribution", self.distribution)):
            if value is not None and np.shape(value) not in ((), (1,), self.last.shape):
                raise ParameterError(name, f"one per target ({len(self.last)})", f"shape {np.shape(value)}")
        self.drawn_for = np.nan
        self.probability = np.zeros(len(self.last))

    def allocation(self, budget: float) -> FloatArray:
        """The probability with which each target is crawled in a slot of this budget."""
        assert self.sources is not None
        if self.distribution is not None:
            return np.minimum(1.0, np.broadcast_to(self.distribution, self.last.shape) * budget)
        change = -np.expm1(-self.sources.decay_rate)
        weight = self.sources.ceiling if self.objective == "freshness" else self.sources.inflow
        each = static_allocation(change, weight, budget, self.sources.cost, self.pages)
        return np.minimum(1.0, each * self.pages)

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """One draw from the lottery for this budget."""
        now, budget, states = self.question(now, budget, states)
        if budget <= 0:
            return np.empty(0, dtype=np.int64)
        if budget != self.drawn_for:
            self.probability, self.drawn_for = self.allocation(budget), budget
        drawn = self._draw()
        drawn = drawn[self.allowed(now)[drawn]]
        if self.groups is not None:
            drawn = first_of_each(drawn, self.groups)
        chosen = affordable(drawn, self.cost, budget)
        self.away[chosen] = True
        return chosen

    def _draw(self) -> IntArray:
        """Distinct ids, each with its own probability (systematic sampling over a random order of the targets)."""
        order = self.random.permutation(len(self.last))
        ends = np.cumsum(self.probability[order])
        # A total that should be whole may fall short of it by rounding; it must not cost a crawl.
        whole = round(ends[-1])
        total = whole if abs(ends[-1] - whole) < 1e-9 else ends[-1]
        at = np.arange(self.random.random(), total, 1.0)
        places = np.searchsorted(ends, at, side="right")
        return order[np.minimum(places, len(order) - 1)].astype(np.int64)
