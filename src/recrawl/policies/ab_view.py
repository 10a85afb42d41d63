"""What two policies over one catalogue say of it: each source as the policy sees it that has it now."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recrawl.policies.contract import Beliefs, LivePolicy, Readers, Reason
from recrawl.policies.demand_survey import Survey
from recrawl.records import FloatArray, IntArray


class SplitView:
    """Answers of two live policies as one."""

    parts: tuple[LivePolicy, ...]
    half: IntArray
    """The half of the hosts each source is in."""
    rulers: IntArray
    """Which of the two has each half now."""
    _heard: int

    @property
    def price(self) -> float:
        """That of the first policy that knows one."""
        return next((part.price for part in self.parts if math.isfinite(part.price)), math.nan)

    def _by_ruler(self, ids: npt.ArrayLike, ask: Callable[[LivePolicy, IntArray], FloatArray]) -> FloatArray:
        chosen = np.atleast_1d(np.asarray(ids, np.int64))
        out = np.full(len(chosen), np.nan)
        for place, part in enumerate(self.parts):
            mine = np.flatnonzero(self.rulers[self.half[chosen]] == place)
            if len(mine):
                out[mine] = ask(part, chosen[mine])
        return out

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """Of whoever has each."""

        def asked(name: str) -> FloatArray:
            return self._by_ruler(ids, lambda part, own: np.asarray(getattr(part.beliefs(own), name)))

        return Beliefs(asked("value"), asked("value_sd"), asked("rate"), asked("rate_sd"))

    def index(self, ids: npt.ArrayLike, now: float) -> FloatArray:
        """Of whoever has each."""
        return self._by_ruler(ids, lambda part, own: part.index(own, now))

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """Of whoever has each."""
        return self._by_ruler(ids, lambda part, own: part.due(own, price))

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """Of whoever has each."""
        chosen = np.atleast_1d(np.asarray(ids, np.int64))
        return [self.parts[self.rulers[self.half[i]]].reasons([i], now)[0] for i in chosen.tolist()]

    def survey(self, price: float, now: float, min_interval: float = 0.0, delay: float = 0.0) -> Survey:
        """What both would spend together."""
        one, other = (part.survey(price, now, min_interval, delay) for part in self.parts)
        names = ("demand", "slope", "backlog", "newcomers", "sources", "siblings")
        return Survey(*(getattr(one, name) + getattr(other, name) for name in names))

    @property
    def mark(self) -> int:
        """How far clicks have been read."""
        return max([part.mark for part in self.parts if isinstance(part, Readers)], default=self._heard)

    def appeal(self, ids: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Of whoever has each, and listens."""

        def asked(place: int) -> FloatArray:
            def ask(part: LivePolicy, own: IntArray) -> FloatArray:
                return part.appeal(own)[place] if isinstance(part, Readers) else np.full(len(own), np.nan)

            return self._by_ruler(ids, ask)

        return asked(0), asked(1)
