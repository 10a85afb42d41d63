"""Where sources stand in the ranking: the policy's own numbers, for people to see and check.

Nothing is computed here a second time. `index` is the function the policy ranks by, `due` its own search on it, and
the reasons are what it says of itself. What is added is one question it is never asked while crawling: when the index
would meet the price if no maximum age came first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.learning.list_reports import Heard
from recrawl.policies.contract import Beliefs, Listening, Reason
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.store.records import Progress
from recrawl.units import DAY_S, show_duration

NEAR = 1e-6
"""An index this close below the price, relative to it, has met it: a search ends with a rounding error."""
NEVER_S = 366 * DAY_S
"""What is not met at this age, nor at ten times the age at which a source is due anyway, is never met."""
UNPRICED = ("timer", "rule")
"""Forms of sources that no index ranks and no price keeps waiting."""
_PLACES, _HALVINGS = 24, 30
SAID_ALREADY = (
    "value", "value_sd", "rate_per_s", "rate_sd", "importance", "cost", "half_life_s", "age_s", "max_age_s", "due",
)  # fmt: skip
"""Reasons that have fields of their own."""


class Ranker(Protocol):
    """What is asked of a policy."""

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """What it thinks of some sources."""
        ...

    def index(self, ids: npt.ArrayLike, now: float) -> FloatArray:
        """What it ranks them by at a time, if they are not crawled before."""
        ...

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """When that meets a price, or their maximum age is over, Unix seconds."""
        ...

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """The numbers behind it."""
        ...


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """One source in the ranking; NaN for what nobody knows. Without a price nothing is met, and everything due.

    Parameters
        value, value_sd, rate, rate_sd: what is believed, per second, importance not included
        index: what a fetch is worth now per unit of cost, as it is ranked
        meets: when that is the price, Unix seconds; inf for never
        due: when the policy takes it: then, or when its maximum age is over; whatever holds it is not considered
        form, reasons: how the index comes about, and from which numbers
    """

    value: float = math.nan
    value_sd: float = math.nan
    rate: float = math.nan
    rate_sd: float = math.nan
    index: float = math.nan
    meets: float = math.nan
    due: float = math.nan
    form: str = ""
    reasons: dict[str, float] = {}


NOWHERE = Rank()


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A policy at work, or as it stands in the store, and its number of every source it was told of."""

    policy: Ranker
    numbers: Mapping[int, int]

    def standings(
        self, progress: Sequence[Progress], now: float, price: float, *, beyond: bool = False
    ) -> dict[int, Rank]:
        """Of sources by the store's id; one that was never crawled, or is not known here, stands nowhere yet.

        Where the maximum age comes before the price is met, that is searched for `beyond`, which takes a while for
        many, or said to be never.
        """
        known = [each for each in progress if each.last is not None and each.source in self.numbers]
        if not known:
            return {each.source: NOWHERE for each in progress}
        ids = np.array([self.numbers[each.source] for each in known], np.int64)
        last = np.array([each.last for each in known], np.float64)
        believed, reasons = self.policy.beliefs(ids), self.policy.reasons(ids, now)
        index = self.policy.index(ids, now)
        due, meets = self._times(ids, last, price, np.array([each.form in UNPRICED for each in reasons]))
        if beyond:
            meets = self._searched(ids, last, due, meets, price)
        columns = (believed.value, believed.value_sd, believed.rate, believed.rate_sd, index, meets, due)
        found = {
            each.source: Rank(
                value=value, value_sd=value_sd, rate=rate, rate_sd=rate_sd, index=worth, meets=met, due=when,
                form=reason.form, reasons=dict(reason.numbers),
            )
            for each, reason, (value, value_sd, rate, rate_sd, worth, met, when) in zip(
                known, reasons, zip(*(column.tolist() for column in columns), strict=True), strict=True
            )
        }  # fmt: skip
        return {each.source: found.get(each.source, NOWHERE) for each in progress}

    def standing(self, progress: Progress, now: float, price: float) -> Rank:
        """Of one source."""
        return self.standings([progress], now, price, beyond=True)[progress.source]

    def curve(self, source: int, times: FloatArray) -> FloatArray:
        """The index of a source at times from its last crawl on, if it is not crawled meanwhile."""
        return self._index(np.full(len(times), self.numbers[source], np.int64), times)

    def heard(self, source: int, now: float) -> Heard | None:
        """What lists and pushes have said of a source; None if nobody names it, or nobody listens."""
        policy = self.policy
        if not isinstance(policy, Listening) or source not in self.numbers:
            return None
        return policy.heard(np.array([self.numbers[source]]))[0]

    def source_of(self, number: int) -> int | None:
        """The store's id of a source, by the policy's number; None for one that is not known."""
        return next((source for source, each in self.numbers.items() if each == number), None) if number >= 0 else None

    def _index(self, ids: IntArray, times: FloatArray) -> FloatArray:
        """Of each source at a time of its own."""
        out = np.empty(len(ids))
        for at in np.unique(times).tolist():
            mine = times == at
            out[mine] = self.policy.index(ids[mine], at)
        return out

    def _times(
        self, ids: IntArray, last: FloatArray, price: float, unpriced: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """When each is due, and when its index meets the price, if before; rules without an index need no price.

        While there is no price, nobody has had to wait: whatever has an index may be fetched again at once.
        """
        if math.isnan(price):
            return np.where(unpriced, self.policy.due(ids), last), np.full(len(ids), math.nan)
        due = self.policy.due(ids, price)
        met = np.isfinite(due)
        met[met] = self._index(ids[met], due[met]) >= price * (1.0 - NEAR)
        return due, np.where(unpriced | np.isnan(due), math.nan, np.where(met, due, math.inf))

    def _searched(
        self, ids: IntArray, last: FloatArray, due: FloatArray, meets: FloatArray, price: float
    ) -> FloatArray:
        """Where the maximum age comes first, when the price is met after it."""
        early = np.flatnonzero(np.isinf(meets) & np.isfinite(due))
        if len(early):
            meets[early] = self._later(ids[early], last[early], due[early], price)
        return meets

    def _later(self, ids: IntArray, last: FloatArray, due: FloatArray, price: float) -> FloatArray:
        """Search on, at ages that grow geometrically, then by halves."""
        age = np.maximum(due - last, 1.0)
        steps = np.maximum(NEVER_S / age, 10.0)[:, None] ** np.linspace(0.0, 1.0, _PLACES)
        places = last[:, None] + age[:, None] * steps
        met = self._index(np.repeat(ids, _PLACES), places.ravel()).reshape(places.shape) >= price
        out, rows = np.full(len(ids), math.inf), np.flatnonzero(met.any(axis=1))
        if not len(rows):
            return out
        first = np.argmax(met[rows], axis=1)
        low, high = np.where(first > 0, places[rows, first - 1], due[rows]), places[rows, first]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            above = self._index(ids[rows], middle) >= price
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        out[rows] = high
        return out


def reasons_in_words(reasons: Mapping[str, float]) -> list[tuple[str, str]]:
    """What the index is made of beside value, rate, importance and cost: a name and a number for people each."""
    said = {name: number for name, number in reasons.items() if name not in SAID_ALREADY}
    doubts = {doubt for name in said for doubt in _doubts(name)}
    return [(_stem(name).replace("_", " "), _numbered(name, said)) for name in said if name not in doubts]


def _stem(name: str) -> str:
    return next((name.removesuffix(unit) for unit in ("_per_s", "_per_day", "_s") if name.endswith(unit)), name)


def _doubts(name: str) -> tuple[str, str]:
    """How the standard deviation of a number may be called."""
    return f"{name}_sd", f"{_stem(name)}_sd"


def _numbered(name: str, said: Mapping[str, float]) -> str:
    number, doubt = said[name], next((said[each] for each in _doubts(name) if said.get(each, 0.0) > 0.0), 0.0)
    if name.endswith("_s") and not name.endswith("_per_s"):
        return show_duration(number)
    per_day = name.endswith(("_per_s", "_per_day"))
    unit = DAY_S if name.endswith("_per_s") else 1.0
    return f"{number * unit:.3g}{f' ± {doubt * unit:.2g}' if doubt else ''}{' a day' if per_day else ''}"
