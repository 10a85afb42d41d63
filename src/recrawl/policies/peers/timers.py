"""One timer per target: what production schedulers share.

A visit at t sets an interval I and with it a date t + I. As shipped, targets past their date are served, the most
overdue first; targets never visited have been due since they became known. *Filled*, the target with the largest
age/interval is served, due or not, so that the whole budget is used in the proportions the rule asks for.

What a publisher asks for (ttl, max-age, Retry-After) reaches a policy as `hold`, which all of them honour. Times are in
seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.arguments import flag
from recrawl.policies.contract import Reason
from recrawl.policies.live_base import RunningPolicy
from recrawl.policies.thompson import found_change
from recrawl.records import BoolArray, FloatArray, IntArray, Visits, checked

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
Published = Sequence[npt.ArrayLike] | None


class TimerPolicy(RunningPolicy):
    """Serves targets whose time has come.

    Parameters
        filled: serve the largest age/interval, whether due or not
        scale: every interval times this; below 1 a rule asks for more fetches than shipped, in the same proportions
    """

    kept: ClassVar[tuple[str, ...]] = ("interval", "date", "errors")
    first_interval: float = DAY
    """Interval before a rule has said anything."""

    def __init__(self, filled: bool = False, scale: float = 1.0, seed: int | tuple[int, ...] = 0) -> None:
        super().__init__(seed)
        self.filled = flag("filled", filled)
        self.scale = float(checked("scale", scale, "a finite number > 0", open_low=True))

    def next_interval(self, ids: IntArray, now: float, changed: BoolArray, published: Published) -> FloatArray:
        """The rule: the interval of each target after a visit that worked; `self.last` still holds the visit before."""
        raise NotImplementedError

    def next_date(self, ids: IntArray, now: float) -> FloatArray:
        """When each target is due after that visit."""
        return now + self.scale * self.interval[ids]

    def retry_after(self, ids: IntArray) -> FloatArray:
        """Time to the next try after `self.errors[ids]` errors in a row; inf for never. The interval, by default."""
        return self.interval[ids]

    def begin(self, now: float) -> None:
        """Everything is due."""
        targets = len(self.last)
        self.interval: FloatArray = np.full(targets, self.first_interval)
        self.date: FloatArray = np.full(targets, now)
        self.errors = np.zeros(targets, dtype=np.int64)

    def grow(self, count: int) -> None:
        """New targets are due from now on."""
        self.interval = np.concatenate([self.interval, np.full(count, self.first_interval)])
        self.date = np.concatenate([self.date, np.full(count, self.now)])
        self.errors = np.concatenate([self.errors, np.zeros(count, dtype=np.int64)])

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """How overdue each target is, −inf before its time; if filled, its age in intervals."""
        if self.filled:
            ages = (now - self.last) / self.interval
            return np.where((self.errors > 0) & (self.date > now), -np.inf, ages)
        overdue = now - self.date
        return np.where(overdue >= 0.0, overdue, -np.inf)

    def learn(self, visits: Visits) -> None:
        """Run the rule on the visits that worked, and put off those that failed."""
        ids, changed, published = visits.ids, found_change(visits), visits.published
        if visits.failed is not None and visits.failed.any():
            self._put_off(ids[visits.failed], visits.now)
            worked = np.flatnonzero(~visits.failed)
            ids, changed = ids[worked], changed[worked]
            published = None if published is None else [published[k] for k in worked.tolist()]
        if len(ids):
            self.errors[ids] = 0
            self.interval[ids] = self.next_interval(ids, visits.now, changed, published)
            self.date[ids] = self.next_date(ids, visits.now)

    def _put_off(self, ids: IntArray, now: float) -> None:
        self.errors[ids] += 1
        self.date[ids] = now + self.retry_after(ids)

    def baseline(self, ids: IntArray, published: Published) -> BoolArray:
        """Which of these visits only made the first copy of a page; a first backlog of dated items already tells."""
        return np.isneginf(self.last[ids]) if published is None else np.zeros(len(ids), dtype=np.bool_)

    # -- live

    def recall(self, ids: IntArray) -> None:
        """As after a visit that said nothing."""
        self.date[ids] = self.last[ids] + self.scale * self.interval[ids]

    def index(self, ids: npt.ArrayLike, now: npt.ArrayLike) -> FloatArray:
        """How overdue each will be, negative before its time; if filled, its age in intervals."""
        chosen, at = self._known(ids), np.asarray(now, np.float64)
        rank = (at - self.last[chosen]) / self.interval[chosen] if self.filled else at - self.date[chosen]
        return np.where(np.isneginf(self.last[chosen]), np.nan, rank)

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """Its date, or when its maximum age is over; filled, nobody can say."""
        chosen = self._known(ids)
        if self.filled:
            return super().due(chosen, price)
        return np.minimum(self.date[chosen], self.overdue_at(chosen))

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """The interval and the date it led to."""
        return [
            Reason("timer", {"interval_s": self.scale * float(self.interval[i]), "due": float(self.date[i])})
            for i in self._known(ids).tolist()
        ]
