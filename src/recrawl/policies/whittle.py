"""The Whittle index policy: crawl the sources whose index is highest [tcns2018, Theorem 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from recrawl.errors import ParameterError
from recrawl.kernels.stochastic_index import StochasticIndex
from recrawl.policies.rules import CEILED, TABLED, WHITTLE, Rule, rule_for
from recrawl.policies.slotted import SlottedPolicy


class Whittle(SlottedPolicy):
    """Top of the index ranking.

    Parameters
        index: "theorem" for Theorem 1; "ceiled" for the simplified formula with its ceiling, which explains the
            published stochastic figures and is not meant for use; or one :class:`StochasticIndex` per source, used
            wherever the worth is observed
    """

    def __init__(
        self, index: Literal["theorem", "ceiled"] | Sequence[StochasticIndex] = "theorem", seed: int = 0
    ) -> None:
        super().__init__(seed)
        if isinstance(index, str) and index not in ("theorem", "ceiled"):
            raise ParameterError("index", "'theorem', 'ceiled' or one StochasticIndex per source", repr(index))
        self.index = index

    def rule(self, budget: float) -> Rule:
        """Theorem 1, the ceiled formula or the given tables."""
        assert self.sources is not None
        if isinstance(self.index, str):
            return rule_for(WHITTLE if self.index == "theorem" else CEILED, self.sources)
        if len(self.index) != len(self.sources):
            raise ParameterError("index", f"one per source ({len(self.sources)})", f"{len(self.index)} indices")
        for i, table in enumerate(self.index):
            if table.cost != self.sources.cost[i]:
                raise ParameterError(
                    "index", f"made for the source's cost ({self.sources.cost[i]:g})", table.cost, (i,)
                )
        size = max(len(table.thresholds) for table in self.index)
        # Shorter tables are filled up on the right with their last point.
        thresholds = np.array([np.pad(t.thresholds, (0, size - len(t.thresholds)), mode="edge") for t in self.index])
        values = np.array([np.pad(t.values, (0, size - len(t.values)), mode="edge") for t in self.index])
        return rule_for(TABLED, self.sources, tables=(thresholds, values))
