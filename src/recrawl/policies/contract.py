"""What every policy is: the same object runs in the simulator, in replay and live.

A policy decides *who is next*; it never fetches, stores or reads a clock. Time is whatever its caller counts in
(slots in the simulator, Unix seconds in replay and live); only `now` tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from recrawl.records import FloatArray, IntArray, Sources, Visits


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What a policy thinks of some targets: value v and rate r, with standard deviations; NaN for no opinion."""

    value: FloatArray
    value_sd: FloatArray
    rate: FloatArray
    rate_sd: FloatArray


@dataclass(frozen=True)
class Reason:
    """Why the index of one target is what it is, for people who want to check it.

    Parameters
        form: of the index: "closed" (of one value and rate), "averaged" (over doubt), "rhythm" (by the hour),
            "planned" (age times a planned rate), "timer" (no index: a rule says when), ...
        numbers: what it is computed from, by names that say the unit
    """

    form: str
    numbers: dict[str, float] = field(default_factory=dict)


@runtime_checkable
class Policy(Protocol):
    """The contract. The battery in `tests/contracts` holds every policy to it.

    Life of a target: it is known from `start` or `add`; `choose` may return it, which puts it *in flight*; `observe`
    (or `release`, when the crawl never happened) brings it back. It is not returned while in flight, held, in a held
    group, or removed.
    """

    soft_budget: bool
    """True if the policy keeps the budget only on average; its results then report what it spent."""

    def start(
        self,
        targets: int,
        now: float,
        sources: Sources | None = None,
        groups: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Forget everything and begin with `targets` targets numbered from 0.

        `sources` gives known parameters to policies that need them; `groups` host numbers, of which at most one
        target per call is chosen; `labels` URLs or paths along which priors may be pooled.
        """
        ...

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """Distinct ids, most wanted first, whose costs together are at most `budget`; the caller crawls exactly these.

        `states` is the observed worth of every target, NaN where unobserved. An empty answer means nothing is worth
        a crawl now, and the budget stays unspent.
        """
        ...

    def observe(self, visits: Visits) -> None:
        """Learn from what crawls showed, and take the visited ids out of flight.

        A failed visit collected nothing: its target is as wanted as before, and it is for the caller to hold it.
        """
        ...

    def add(self, count: int, groups: npt.ArrayLike | None = None) -> IntArray:
        """Make room for new targets; returns their ids."""
        ...

    def remove(self, ids: npt.ArrayLike) -> None:
        """Never choose these again; their ids are not reused."""
        ...

    def hold(self, ids: npt.ArrayLike, until: float) -> None:
        """Do not choose these before `until`."""
        ...

    def hold_groups(self, groups: npt.ArrayLike, until: float) -> None:
        """Do not choose any target of these groups before `until`."""
        ...

    def release(self, ids: npt.ArrayLike) -> None:
        """These were chosen but not crawled: take them out of flight as if they had not been chosen."""
        ...

    def beliefs(self, ids: npt.ArrayLike) -> Beliefs:
        """What the policy thinks of these targets."""
        ...

    def dump(self) -> dict[str, Any]:
        """A copy of everything `restore` needs to go on from here."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `dump` of a policy made with the same options."""
        ...
