"""What every policy is: the same object runs in the simulator, in replay and live.

A policy decides *who is next*; it never fetches, stores or reads a clock. Time is whatever its caller counts in
(slots in the simulator, Unix seconds in replay and live); only `now` tells it.

The live program needs a little more, in one piece that all its policies offer and three that only some do::

    Policy                start, choose, observe, add, remove, hold, release, beliefs ...
    └── LivePolicy        configure, index, due, reasons, survey, price; rows and shared, which outlive a restart
    Priced                intervals                     for those that weigh targets against a price
    Readers               feedback, mark, appeal        for those that learn from readers' clicks
    Listening             lists, heard, expect_lists    for those that learn whom of lists and pushes to believe
    Pooling               summary, adopt                for those that learn what a fleet has in common

A policy built on `policies.base.RankedPolicy` is a live one without a line of its own, if it says which of its arrays
are to be `kept`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from recrawl.learning.list_reports import Heard, ListBelief
from recrawl.learning.model import Reason as Reason
from recrawl.learning.readership import Clicked
from recrawl.policies.demand_survey import Survey
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What a policy thinks of some targets: value v and rate r, with standard deviations; NaN for no opinion."""

    value: FloatArray
    value_sd: FloatArray
    rate: FloatArray
    rate_sd: FloatArray


@runtime_checkable
class Policy(Protocol):
    """The contract. The battery in `tests/contracts` holds every policy to it.

    Life of a target: it is known from `start` or `add`; `choose` may return it, which puts it *in flight*; `observe`
    (or `release`, when the crawl never happened) brings it back. It is not returned while in flight, held, in a held
    group, or removed.
    """

    soft_budget: bool
    """True if the policy keeps the budget only on average; its results then report what it spent."""
    uses_lists: bool
    """True if lists (sitemaps, indexes) are of use to it; the others are better not given any as targets."""

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

        A visit with a `sitemap` was to a list: what it says concerns other targets, all of them known, and no visit was
        made to those. A policy that does not use lists notes that it was there, and learns nothing.
        """
        ...

    def signal(self, ids: npt.ArrayLike, now: float, at: npt.ArrayLike | None = None) -> None:
        """Something outside says that these changed, at `at` (one time or one per id) or just now; nobody visited them.

        A policy is free to ignore it.
        """
        ...

    def add(self, count: int, groups: npt.ArrayLike | None = None, labels: Sequence[str] | None = None) -> IntArray:
        """Make room for new targets; returns their ids."""
        ...

    def remove(self, ids: npt.ArrayLike) -> None:
        """Never choose these again; their ids are not reused."""
        ...

    def hold(self, ids: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose these before `until`, one time or one per id."""
        ...

    def hold_groups(self, groups: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Do not choose any target of these groups before `until`, one time or one per group."""
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


@runtime_checkable
class LivePolicy(Policy, Protocol):
    """A policy that can run in the live program, over sources that come, change and go.

    `start` may be given no targets at all. After a restart the program calls `start`, `load_shared`, `configure`,
    `load_rows`, `hold` and `hold_groups`, in this order, and goes on.
    """

    @property
    def price(self) -> float:
        """The index of the last one chosen; NaN where the policy knows no price, or not yet."""
        ...

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
        """What owners said of some targets, numbers or one per id; NaN for the usual half-life or maximum age.

        A target older than its maximum age goes before all others; costs are paid from the budget. What importance and
        half-life mean is for the policy to say. `kin` numbers families that count as one newcomer, -1 for none. What
        is found is visible `index_delay` seconds after the next whole multiple of `index_batch` seconds.
        """
        ...

    def index(self, ids: npt.ArrayLike, now: float) -> FloatArray:
        """What ranks each if it is not crawled before `now`; NaN where nobody can say."""
        ...

    def due(self, ids: npt.ArrayLike, price: float | None = None) -> FloatArray:
        """When each is worth a crawl at the present price or another: Unix time, inf for never, NaN if unknown."""
        ...

    def reasons(self, ids: npt.ArrayLike, now: float) -> list[Reason]:
        """The numbers behind the index of each at `now`, for people."""
        ...

    def survey(self, price: float, now: float, min_interval: float = 0.0, delay: float = 0.0) -> Survey:
        """What the catalogue would spend at a price; without a price, or an opinion, how many sources there are."""
        ...

    def rows(self, ids: npt.ArrayLike) -> list[bytes]:
        """All that was learned of each; empty where nothing was."""
        ...

    def load_rows(
        self, ids: npt.ArrayLike, rows: Sequence[bytes], last: npt.ArrayLike, visited: npt.ArrayLike | None = None
    ) -> BoolArray:
        """Go on with targets as `rows` gave them, last crawled at `last` (NaN for never); which could be used."""
        ...

    def shared(self) -> bytes:
        """What belongs to no single target."""
        ...

    def load_shared(self, state: bytes) -> bool:
        """Go on from `shared`; False, and nothing done, if it cannot be used."""
        ...


@runtime_checkable
class Priced(Protocol):
    """A policy that weighs targets against a price, so that what another budget would change can be said."""

    def intervals(self, ids: npt.ArrayLike, price: float) -> FloatArray:
        """How long each is left alone at a price, at no special hour, seconds; inf for one never worth it."""
        ...


@runtime_checkable
class Readers(Protocol):
    """A policy that learns from what readers open."""

    @property
    def mark(self) -> int:
        """How far the record of clicks has been read."""
        ...

    def feedback(self, ids: npt.ArrayLike, clicked: Clicked, *, now: float, mark: int | None = None) -> IntArray:
        """Readers opened items of these targets; which targets are believed otherwise now."""
        ...

    def appeal(self, ids: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Interest in an item compared with the catalogue's mean, and its half-life in seconds."""
        ...


@runtime_checkable
class Listening(Protocol):
    """A policy that learns how far to believe lists and pushes."""

    def lists(self, now: float, most: int | None = None) -> list[ListBelief]:
        """What is thought of every list, and of the pushes of every site; of so many at most, those that name most."""
        ...

    def are_lists(self, ids: npt.ArrayLike) -> BoolArray:
        """Which targets have turned out to be lists."""
        ...

    def heard(self, ids: npt.ArrayLike) -> list[Heard | None]:
        """What lists and pushes have said of some targets; None for one that nobody names."""
        ...

    def expect_lists(self, ids: npt.ArrayLike) -> None:
        """Some targets are lists, as far as anybody knows: of newcomers these are looked at first."""
        ...

    def drain_told(self) -> IntArray:
        """The targets of which something was said since this was asked last: their rows are others now."""
        ...


@runtime_checkable
class Pooling(Protocol):
    """A policy that learns from other shards what is common to the catalogue."""

    def summary(self) -> dict[str, FloatArray]:
        """Additive statistics of this part of the catalogue."""
        ...

    def adopt(self, others: dict[str, FloatArray]) -> None:
        """The sum of what the other parts said; empty where there are none."""
        ...
