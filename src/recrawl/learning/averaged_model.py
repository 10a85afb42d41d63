"""What models share whose index is averaged over atoms, multiplied by the terms of each source's owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from recrawl.learning.columns import Column, Columns, Parts
from recrawl.learning.model import Moments, Reason, Times
from recrawl.learning.posterior_points import Atoms
from recrawl.records import FloatArray, IntArray


class Terms(Columns):
    """What owners say of each source: the decay of interest, and what a unit of worth counts per unit of cost."""

    columns: ClassVar[Mapping[str, Column]] = {
        "fading": Column(np.float64, 1.0, kept=False),
        "weight": Column(np.float64, 1.0, kept=False, alike=True),
    }
    fading: FloatArray
    weight: FloatArray


class AveragedModel(Parts):
    """A model that keeps its `atoms` in line with what it learns (`condense`)."""

    atoms: Atoms
    terms: Terms

    def condense(self, rows: IntArray) -> None:
        """Write the atoms of some sources anew."""
        raise NotImplementedError

    def enter(self, rows: IntArray, labels: Sequence[str] | None) -> None:
        """New rows: nothing is known of them."""

    def agree(self, rows: IntArray, fading: FloatArray, weight: FloatArray) -> None:
        """The decay of interest in some sources, and what they are worth per cost."""
        self.terms.fading[rows] = fading
        self.terms.put("weight", rows, weight)
        self.condense(rows)

    def worth(self, rows: IntArray) -> FloatArray:
        """What the index at unit weight is multiplied by."""
        return self.terms.weight[rows]

    def index(self, rows: IntArray, since: FloatArray, now: Times, tick: float) -> FloatArray:
        """The averaged index."""
        return self.worth(rows) * self.atoms.index(rows, np.maximum(now - since, 0.0), tick)

    def asleep_until(self, rows: IntArray, since: FloatArray, now: float, level: Times) -> FloatArray:
        """Times before which the index of some sources is surely below a level."""
        with np.errstate(divide="ignore"):
            return since + self.atoms.young(rows, np.maximum(now - since, 0.0), self._level(rows, level))

    def meets(self, rows: IntArray, since: FloatArray, level: Times, latest: FloatArray) -> FloatArray:
        """Times at which the index of some sources meets a level, `latest` at most."""
        return np.minimum(since + self.ages(rows, level), latest)

    def ages(self, rows: IntArray, level: Times) -> FloatArray:
        """Ages at which it does so; inf for never."""
        with np.errstate(divide="ignore"):
            return self.atoms.ripe(rows, self._level(rows, level))

    def _level(self, rows: IntArray, level: Times) -> FloatArray:
        """A level of the index, at unit weight."""
        result: FloatArray = level / np.maximum(self.worth(rows), 1e-300)
        return result

    def moments(self, rows: IntArray) -> Moments:
        """Value and rate of the index, owners' terms not included."""
        return self.atoms.moments(rows)

    def reasons(self, rows: IntArray, since: FloatArray, now: float) -> list[Reason]:
        """Value and rate, each with its doubt."""
        names = ("value", "value_sd", "rate_per_s", "rate_sd")
        columns = dict(zip(names, self.atoms.moments(rows), strict=True))
        columns |= {"weight": self.worth(rows), "age_s": np.maximum(now - since, 0.0)}
        return [Reason("averaged", {name: float(each[k]) for name, each in columns.items()}) for k in range(len(rows))]

    def recompute(self) -> None:
        """Bring everything in line with rows and common laws, after either was loaded."""
        self.condense(np.arange(len(self)))

    def shared(self) -> dict[str, Any]:
        """What belongs to no single source; nothing by default."""
        return {}

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`."""
