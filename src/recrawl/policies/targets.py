"""The targets of a policy: who is there, in flight, held, or gone; nothing about how much anybody is wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from recrawl.errors import ContractError, ParameterError
from recrawl.policies import call_checks
from recrawl.policies.call_checks import times
from recrawl.records import BoolArray, FloatArray, IntArray, whole_numbers


class Targets:
    """Columns of one element per target, set up by `start`."""

    last: FloatArray
    """When each was visited last; −inf for never."""
    cost: FloatArray
    held_until: FloatArray
    away: BoolArray
    """In flight."""
    removed: BoolArray
    groups: IntArray | None
    group_held_until: dict[int, float]

    def grow(self, count: int) -> None:
        """Make room for `count` more targets in whatever a subclass keeps per target."""

    def require_start(self) -> None:
        """Refuse to choose before `start`."""
        if not hasattr(self, "last"):
            raise ContractError(f"{type(self).__name__} was asked to choose before it was started: call start first")

    def allowed(self, now: float) -> BoolArray:
        """Which targets may be chosen at `now`."""
        free = ~(self.away | self.removed) & (self.held_until <= now)
        if self.groups is not None:
            held = [group for group, until in self.group_held_until.items() if until > now]
            if held:
                free &= ~np.isin(self.groups, held)
        return free

    def add(self, count: int, groups: npt.ArrayLike | None = None, labels: Sequence[str] | None = None) -> IntArray:
        """Make room for new targets; returns their ids."""
        count, before = call_checks.more(count, labels), len(self.last)
        if count:
            self.grow(count)
        if groups is not None and self.groups is None:
            if before:
                raise ParameterError("groups", "None: the policy was started without groups", groups)
            self.groups = np.empty(0, np.int64)
        if self.groups is not None:
            more = np.arange(count) + self.groups.max(initial=-1) + 1 if groups is None else groups
            self.groups = np.concatenate([self.groups, call_checks.group_numbers(more, count)])
        self.cost = np.concatenate([self.cost, np.ones(count)])
        self.last = np.concatenate([self.last, np.full(count, -np.inf)])
        self.held_until = np.concatenate([self.held_until, np.full(count, -np.inf)])
        self.away = np.concatenate([self.away, np.zeros(count, dtype=bool)])
        self.removed = np.concatenate([self.removed, np.zeros(count, dtype=bool)])
        return np.arange(before, before + count)

    def remove(self, ids: npt.ArrayLike) -> None:
        """Never choose these again."""
        self.removed[self._known(ids)] = True

    def hold(self, ids: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose these before `until`, one time or one per id."""
        chosen = self._known(ids)
        self.held_until[chosen] = times("until", until, len(chosen))

    def hold_groups(self, groups: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose any target of these groups before `until`, one time or one per group."""
        numbers = whole_numbers("groups", groups)
        self.group_held_until.update(zip(numbers.tolist(), times("until", until, len(numbers)).tolist(), strict=True))

    def release(self, ids: npt.ArrayLike) -> None:
        """Take ids out of flight that were not crawled after all."""
        self.away[self._known(ids)] = False

    def _known(self, ids: npt.ArrayLike, argument: str = "ids") -> IntArray:
        return call_checks.known(ids, len(self.last), argument)
