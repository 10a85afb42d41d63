"""Two policies at once over one catalogue: each chooses on its half of the hosts, from its half of the budget.

Both know all sources. One that is the other's, or that the other has in flight, is held for ever until it is not. Each
has a bucket of its own that fills at half the rate, so that what the one leaves unspent is not the other's to spend;
together they never spend more than they are offered.

Every visit teaches both, whoever made it: what is new is new only once. A rule whose intervals answer to its own visits
(`own_visits`) is told of the other's only that they were made.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.learning.readership import Clicked
from recrawl.policies.ab_plan import Trial
from recrawl.policies.ab_view import SplitView
from recrawl.policies.call_checks import some_visits
from recrawl.policies.contract import LivePolicy, Readers
from recrawl.policies.stored_state import Memory
from recrawl.records import BoolArray, IntArray, Sources, Visits
from recrawl.scheduling.token_bucket import TimedBucket


class Split(SplitView):
    """Two live policies as one.

    Parameters
        parts: the policies by the names their records stand under, in the order of the trial
        trial: who has which hosts, and when
        host_of: the host of a label; sources of one group must be of one host
        per_second, burst: the budget of both together
    """

    soft_budget = False

    def __init__(
        self,
        parts: Mapping[str, LivePolicy],
        trial: Trial,
        host_of: Callable[[str], str],
        per_second: float,
        burst: float,
    ) -> None:
        self.parts, self.trial, self.memory = tuple(parts.values()), trial, Memory(parts)
        self._host_of, self._per_second, self._burst = host_of, per_second, burst
        self.uses_lists = any(part.uses_lists for part in self.parts)

    # -- the catalogue

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Start both."""
        for part in self.parts:
            part.start(targets, now, sources, groups, labels)
        self.half: IntArray = self._halves(targets, labels)
        self.cost, self.until = np.ones(targets), np.full(targets, -np.inf)
        self.maker: IntArray = np.full(targets, -1)
        """Which of the two has a target in flight; -1 for none."""
        self.rulers = np.array([self.trial.ruler(half, now) for half in (0, 1)])
        self.buckets = [TimedBucket(self._per_second / 2, max(self._burst / 2, 1.0), now=now) for _ in self.parts]
        self._heard = 0
        self._hold(np.arange(targets))

    def add(self, count: int, groups: npt.ArrayLike | None = None, labels: Sequence[str] | None = None) -> IntArray:
        """Make room in both."""
        ids, _ = (part.add(count, groups, labels) for part in self.parts)
        self.half = np.concatenate([self.half, self._halves(count, labels)])
        self.cost = np.concatenate([self.cost, np.ones(count)])
        self.until = np.concatenate([self.until, np.full(count, -np.inf)])
        self.maker = np.concatenate([self.maker, np.full(count, -1)])
        self._hold(ids)
        return ids

    def _halves(self, count: int, labels: Sequence[str] | None) -> IntArray:
        hosts = [""] * count if labels is None else [self._host_of(label) for label in labels]
        return np.array([self.trial.half_of(host) for host in hosts], np.int64)

    def configure(self, ids: npt.ArrayLike, *, cost: npt.ArrayLike | None = None, **terms: Any) -> None:
        """Tell both."""
        for part in self.parts:
            part.configure(ids, cost=cost, **terms)
        if cost is not None:
            self.cost[np.asarray(ids, np.int64)] = cost
            for bucket in self.buckets:
                bucket.widen(float(self.cost.max(initial=1.0)))

    def remove(self, ids: npt.ArrayLike) -> None:
        """From both."""
        for part in self.parts:
            part.remove(ids)

    # -- choosing

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """Each from its own hosts and tokens; where there are not enough for both, who has saved more goes first."""
        self._swap(now)
        for bucket in self.buckets:
            bucket.fill(now)
        chosen, left = [], budget
        for place in sorted((0, 1), key=lambda k: -self.buckets[k].balance):
            ids = self.parts[place].choose(now, min(self.buckets[place].balance, left), states)
            cost = float(self.cost[ids].sum())
            if not self.buckets[place].spend(cost):  # sums of fractional costs are a little off
                self.buckets[place].spend_all()
            left = max(left - cost, 0.0)
            self.maker[ids] = place
            chosen.append(ids)
        return np.concatenate(chosen)

    def _swap(self, now: float) -> None:
        rulers = np.array([self.trial.ruler(half, now) for half in (0, 1)])
        if (rulers != self.rulers).any():
            self.rulers = rulers
            self._hold(np.arange(len(self.half)))

    def _hold(self, ids: IntArray) -> None:
        """Let nobody choose what is the other's, or what the other has in flight."""
        for place, part in enumerate(self.parts):
            theirs = self.rulers[self.half[ids]] != place
            theirs |= (self.maker[ids] >= 0) & (self.maker[ids] != place)
            if len(ids):
                part.hold(ids, np.where(theirs, np.inf, self.until[ids]))

    def observe(self, visits: Visits) -> None:
        """Teach both."""
        ids, makers = visits.ids, self.maker[visits.ids]
        for place, part in enumerate(self.parts):
            if not getattr(part, "own_visits", False) or (makers == place).all():
                part.observe(visits)
                continue
            own = makers == place
            if own.any():
                part.observe(some_visits(visits, own))
            made = ids[~own] if visits.failed is None else ids[~own & ~visits.failed]
            if len(made):
                part.load_rows(made, [b""] * len(made), np.full(len(made), visits.now))
        self._land(ids)

    def signal(self, ids: npt.ArrayLike, now: float, at: npt.ArrayLike | None = None) -> None:
        """Tell both."""
        for part in self.parts:
            part.signal(ids, now, at)

    def release(self, ids: npt.ArrayLike) -> None:
        """Back to whoever chose them, with what they cost."""
        chosen = np.atleast_1d(np.asarray(ids, np.int64))
        for place, part in enumerate(self.parts):
            own = chosen[self.maker[chosen] == place]
            if len(own):
                part.release(own)
                self.buckets[place].put_back(float(self.cost[own].sum()))
        self._land(chosen)

    def _land(self, ids: IntArray) -> None:
        self.maker[ids] = -1
        self._hold(ids)

    def hold(self, ids: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose these before `until`, one time or one per id."""
        chosen = np.atleast_1d(np.asarray(ids, np.int64))
        self.until[chosen] = until
        self._hold(chosen)

    def hold_groups(self, groups: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose any target of these groups before `until`, one time or one per group."""
        for part in self.parts:
            part.hold_groups(groups, until)

    # -- readers

    def feedback(self, ids: npt.ArrayLike, clicked: Clicked, *, now: float, mark: int | None = None) -> IntArray:
        """Tell those who listen."""
        self._heard = self._heard if mark is None else mark
        touched = [part.feedback(ids, clicked, now=now, mark=mark) for part in self.parts if isinstance(part, Readers)]
        return np.unique(np.concatenate([np.empty(0, np.int64), *touched]))

    # -- keeping

    def rows(self, ids: npt.ArrayLike) -> list[bytes]:
        """What each of the two keeps."""
        return self.memory.rows(ids)

    def load_rows(
        self, ids: npt.ArrayLike, rows: Sequence[bytes], last: npt.ArrayLike, visited: npt.ArrayLike | None = None
    ) -> BoolArray:
        """Go on with targets as `rows` gave them."""
        times = np.asarray(last, np.float64)
        self.memory.load_rows(ids, rows, times if visited is None else np.where(visited, times, np.nan))
        return np.ones(len(rows), dtype=bool)

    def shared(self) -> bytes:
        """What each of the two keeps of the whole."""
        return self.memory.shared()

    def load_shared(self, state: bytes) -> bool:
        """Go on from `shared`."""
        self.memory.load_shared(state)
        return True

    def dump(self) -> dict[str, Any]:
        """Both, and what is in flight."""
        own = {
            name: copy.deepcopy(getattr(self, name)) for name in ("half", "cost", "until", "maker", "rulers", "buckets")
        }
        return {"parts": [part.dump() for part in self.parts], "own": own}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a dump of a started one."""
        for part, each in zip(self.parts, state["parts"], strict=True):
            part.restore(each)
        for name, column in state["own"].items():
            setattr(self, name, copy.deepcopy(column))
