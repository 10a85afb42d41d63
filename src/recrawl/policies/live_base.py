"""What a ranked policy needs to run live: owners' terms, and a record of each target that outlives a restart.

A subclass says which of its attributes hold one element per target (`kept`): an array, or a list of arrays or lists of
numbers. They are written as one small map per target, by name, so that a row of another layout is never misread.

Importance and half-life mean nothing here. Rules that know neither stay what they are elsewhere; only costs and the
maximum age, which are the owner's and not the rule's, are kept to.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.policies import call_checks
from recrawl.policies.base import RankedPolicy
from recrawl.policies.contract import Reason
from recrawl.policies.demand_survey import Survey
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits

OVERDUE = 1e250
"""Above every rank: a target past its maximum age, the longest overdue first."""
NEWEST = 1000
"""So many numbers of a list outlive a restart."""


class RunningPolicy(RankedPolicy):
    """A ranked policy that can run live; see :class:`~recrawl.policies.contract.LivePolicy`."""

    fewest: ClassVar[int] = 0
    own_visits: ClassVar[bool] = False
    """Whether what it keeps answers to its own visits, so that another's would lead it astray."""
    kept: ClassVar[tuple[str, ...]] = ()
    """Attributes of one element per target that outlive a restart."""
    kept_once: ClassVar[tuple[str, ...]] = ()
    """Attributes of the policy as a whole that do: numbers."""

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Reset; `targets` may be 0."""
        targets, now, _ = call_checks.beginning(targets, now, sources, groups, labels, self.fewest)
        self.now = now
        self.max_age: FloatArray = np.full(max(targets, 0), np.inf)
        self.since: FloatArray = np.full(max(targets, 0), self.now)
        super().start(targets, now, sources, groups, labels)

    def add(self, count: int, groups: npt.ArrayLike | None = None, labels: Sequence[str] | None = None) -> IntArray:
        """Make room for new targets, known from now on."""
        ids = super().add(count, groups, labels)
        self.max_age = np.concatenate([self.max_age, np.full(count, np.inf)])
        self.since = np.concatenate([self.since, np.full(count, self.now)])
        return ids

    def configure(
        self,
        ids: npt.ArrayLike,
        *,
        importance: npt.ArrayLike | None = None,
        half_life: npt.ArrayLike | None = None,
        max_age: npt.ArrayLike | None = None,
        cost: npt.ArrayLike | None = None,
        kin: npt.ArrayLike | None = None,
        index_delay: npt.ArrayLike | None = None,
        index_batch: npt.ArrayLike | None = None,
    ) -> None:
        """Costs and maximum ages; the rest means nothing to a rule that does not look at worth."""
        chosen = self._known(ids)
        ages = None if max_age is None else call_checks.own_times("max_age", max_age, "> 0 or inf", len(chosen))
        costs = (
            None if cost is None else call_checks.numbers("cost", cost, "finite and > 0", len(chosen), open_low=True)
        )
        if ages is not None:
            self.max_age[chosen] = np.where(np.isnan(ages), np.inf, ages)
        if costs is not None:
            self.cost[chosen] = costs

    # -- choosing

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """Those past their maximum age, then the most wanted."""
        now, budget, states = self.question(now, budget, states)
        self.now = max(self.now, now)
        return super().choose(now, budget, states)

    def scores(self, now: float, states: FloatArray | None) -> FloatArray:
        """The ranking, below all that are past their maximum age."""
        ranks, age = self.rank(now, states), now - np.where(np.isneginf(self.last), self.since, self.last)
        return np.where(age >= self.max_age, OVERDUE * np.minimum(age / self.max_age, OVERDUE), ranks)

    def observe(self, visits: Visits) -> None:
        """Learn, and note the time; a list was visited, and that is all."""
        self._visited(visits)
        self.now = max(self.now, visits.now)
        super().observe(visits)
        lists = visits.of_lists
        if lists.any():
            self.recall(visits.ids[lists])

    # -- queries

    @property
    def price(self) -> float:
        """There is none."""
        return math.nan

    def overdue_at(self, ids: IntArray) -> FloatArray:
        """When the maximum age of each is over."""
        return np.where(np.isneginf(self.last[ids]), self.since[ids], self.last[ids]) + self.max_age[ids]

    def index(self, ids: npt.ArrayLike, now: float) -> FloatArray:
        """Nobody can say, unless a subclass can."""
        return np.full(len(self._known(ids)), np.nan)

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """A target never crawled, since it became known; of the others nobody can say."""
        chosen = self._known(ids)
        return np.where(np.isneginf(self.last[chosen]), self.since[chosen], np.nan)

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """There are no numbers behind it."""
        return [Reason("rule") for _ in self._known(ids)]

    def survey(self, price: float, now: float, min_interval: float = 0.0, delay: float = 0.0) -> Survey:
        """How many sources there are: a fleet shares its budget by their number where nobody knows a price."""
        here = ~self.removed & (self.held_until < np.inf)
        new = np.isneginf(self.last)
        waiting = here & new & ~self.away & (self.held_until <= now)
        return Survey(newcomers=int(np.count_nonzero(waiting)), sources=int(np.count_nonzero(here & ~new)))

    # -- keeping

    def rows(self, ids: npt.ArrayLike) -> list[bytes]:
        """What is kept of each target; empty where nothing is kept."""
        chosen = self._known(ids).tolist()
        if not self.kept:
            return [b""] * len(chosen)
        columns = {name: getattr(self, name) for name in self.kept}
        return [msgspec.msgpack.encode({name: _written(column[i]) for name, column in columns.items()}) for i in chosen]

    def load_rows(
        self, ids: npt.ArrayLike, rows: Sequence[bytes], last: npt.ArrayLike, visited: npt.ArrayLike | None = None
    ) -> BoolArray:
        """Go on with targets as `rows` gave them; one whose row cannot be used is known to have been crawled."""
        chosen = self._known(ids)
        moments = np.broadcast_to(np.asarray(last, np.float64), chosen.shape)
        crawled = np.isfinite(moments)
        if visited is not None:
            crawled &= np.broadcast_to(np.asarray(visited, np.bool_), chosen.shape)
        self.last[chosen[crawled]] = moments[crawled]
        self.recall(chosen[crawled])
        used = [not row or self._load_row(i, row) for i, row in zip(chosen.tolist(), rows, strict=True)]
        return np.array(used, dtype=bool)

    def recall(self, ids: IntArray) -> None:
        """These were crawled before, and no more is known of them; nothing to do by default."""

    def _load_row(self, target: int, row: bytes) -> bool:
        try:
            told: dict[str, Any] = msgspec.msgpack.decode(row)
            read = {name: _read(getattr(self, name)[target], told[name]) for name in self.kept}
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            return False
        for name, value in read.items():
            getattr(self, name)[target] = value
        return True

    def shared(self) -> bytes:
        """Where its randomness stands, and what a subclass keeps."""
        random = json.dumps(self.random.bit_generator.state)
        return msgspec.msgpack.encode({"random": random, **{name: getattr(self, name) for name in self.kept_once}})

    def load_shared(self, state: bytes) -> bool:
        """Go on from `shared`; False, and nothing done, if it cannot be used."""
        try:
            told: dict[str, Any] = msgspec.msgpack.decode(state)
            mine = {name: type(getattr(self, name))(told[name]) for name in self.kept_once}
            self.random.bit_generator.state = json.loads(told["random"])
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            return False
        for name, value in mine.items():
            setattr(self, name, value)
        return True

    def _known(self, ids: npt.ArrayLike, argument: str = "ids") -> IntArray:
        self.require_start()
        return super()._known(ids, argument)


def _written(value: Any) -> Any:
    """An element as a row holds it: a number, or the newest of several numbers as bytes."""
    return value.item() if np.ndim(value) == 0 else np.asarray(value[-NEWEST:], np.float64).tobytes()


def _read(present: Any, value: Any) -> Any:
    """An element back from a row, of the type of the one that is there."""
    if isinstance(present, np.generic):
        return type(present)(value)
    numbers = np.frombuffer(value, np.float64).copy()
    return numbers if isinstance(present, np.ndarray) else numbers.tolist()
