"""The calendar: exactly the top of the ranking, at a cost that does not grow with the catalogue.

A source's index only rises with age, at a known speed, so a source far below the price need not be looked at until it
can matter. The calendar keeps those asleep in a timing wheel (:mod:`~recrawl.scheduling.timing_wheel`), looks at the
few that are awake (:mod:`~recrawl.scheduling.candidate_scan`) and takes the first of them
(:mod:`~recrawl.scheduling.choice`). It ranks by the beliefs it is given: it does not learn,
fetch, or know what time it is.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.arguments import instant, number
from recrawl.errors import ParameterError
from recrawl.records import FloatArray, IntArray, checked
from recrawl.scheduling import arguments, capacity, edits, snapshot
from recrawl.scheduling.chains import MEMBERS
from recrawl.scheduling.choice import FITS, choose
from recrawl.scheduling.spending import smoothed_price
from recrawl.scheduling.state import (
    COLUMNS,
    CROWD,
    CROWDS,
    DIALS,
    FREE,
    GONE,
    KNOBS,
    LABOUR,
    LAST,
    LATEST,
    LEDGER,
    MARK,
    NEWCOMERS,
    NOT_BEFORE,
    NOW,
    RATE,
    STEEPNESS,
    UNUSED,
    VALUE,
    WARD,
    Chains,
    HostColumns,
    SourceRecords,
    Wards,
)
from recrawl.scheduling.timing_wheel import STEEP, revisits, untune

# Slots of the main wheel: one per so many sources, within limits that keep the heads of all slots in the cache.
SOURCES_PER_SLOT, FEWEST_SLOTS, MOST_SLOTS = 64, 64, 1 << 17
# Sources a host's ward is prepared for, per slot.
HOST_SLOTS = 1 << 12
# Naps per source beyond what steady work needs, after which the wheel is tuned to the present price.
PATIENCE = 4
COST = "finite and > 0"
# What the parts are called in a file, whatever their classes are called.
PARTS_IN_FILE: dict[str, Any] = {"Catalogue": SourceRecords, "Chains": Chains, "Wards": Wards, "Hosts": HostColumns}
NUMBERS_IN_FILE = {"size": int, "gone": int, "price": float, "cheapest": float, "grouped": bool}


class Calendar:
    """Sources ranked by the continuous index, awake only when they can matter.

    Parameters, each a number or one per source
        value: v, what a source is worth once ripe; with rate 0, its arrival rate Λ
        rate: r, how fast it ripens, per second; 0 means the quadratic form value·age²/(2·cost)
        cost: C, what a crawl spends
        last: time of the last crawl; -inf, or None for all, means never. A source never crawled is as ripe as can be
        group: host number, a whole number >= 0; at most one source per group is chosen in a call
        now: the time at the start, in seconds
        max_age: a source this old is overdue and goes before all others, the longest overdue first

    The ranking is by index, equal indices by id, lower first. A source whose index is 0 is not chosen. Time is in
    float64 seconds, Unix times included; it may stand still or step back, which only makes sources look younger.

    >>> calendar = Calendar(value=[1.0, 5.0, 3.0], rate=0.1, last=0.0)
    >>> calendar.choose(now=10.0, budget=2).tolist()
    [1, 2]
    >>> calendar.choose(now=11.0, budget=2).tolist()
    [0, 1]
    """

    def __init__(
        self,
        value: npt.ArrayLike,
        rate: npt.ArrayLike,
        cost: npt.ArrayLike = 1.0,
        *,
        last: npt.ArrayLike | None = None,
        group: npt.ArrayLike | None = None,
        now: float = 0.0,
        max_age: npt.ArrayLike = math.inf,
    ) -> None:
        start = instant("now", now)
        size = max(np.size(a) for a in (value, rate, cost, max_age, *([] if last is None else [last])))
        if group is not None:
            size = max(size, np.size(group))
        self._size = 0
        self._gone = 0
        self._price = math.nan
        slots = _power_of_two(size // SOURCES_PER_SLOT, FEWEST_SLOTS, MOST_SLOTS)
        self._catalogue = SourceRecords(
            record=np.empty((0, 4)),
            place=np.empty(0, np.int32),
            cost=np.ones(1),
            max_age=np.full(1, math.inf),
            group=np.empty(0, np.int32),
        )
        self._chains = Chains(
            blocks=np.empty((0, 1 + MEMBERS), np.int32),
            heads=np.empty((0, 2), np.int32),
            ledger=np.zeros(LEDGER, np.int64),
            newcomers=np.empty(0, np.int32),
            ceilings=np.empty(0),
        )
        self._chains.ledger[FREE] = -1
        self._wards = Wards(dial=np.zeros((0, DIALS)), knob=np.zeros((0, KNOBS), np.int64))
        self._hosts = HostColumns(until=np.empty(0), table=np.zeros((0, COLUMNS), np.int64))
        self._grouped = group is not None
        self._chains = capacity.more_chains(self._chains, 1)
        self._new_ward(slots, -1)
        self._wards.dial[0, [NOW, LATEST]] = start
        self._cheapest = math.inf
        self.add(value, rate, cost, last=last, group=group, max_age=max_age)

    # -- what it holds

    def __len__(self) -> int:
        """How many sources it holds, those removed not counted."""
        return self._size - self._gone

    @property
    def price(self) -> float:
        """The index of the last source chosen, smoothed over some calls; NaN before the first."""
        return self._price

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        parts: tuple[Any, ...] = (self._catalogue, self._chains, self._wards, self._hosts)
        return sum(array.nbytes for part in parts for array in part)

    # -- choosing

    def choose(self, now: float, budget: float) -> IntArray:
        """The top of the ranking as far as `budget` (in units of cost) goes, first first; marks them crawled at `now`.

        Goes down the ranking and stops at the first source that does not fit.
        """
        moment, tokens = instant("now", now), number("budget", budget, "a finite number >= 0")
        guess = self._guess(tokens)
        if guess == 0:
            return np.empty(0, np.int64)
        picked, lowest = self._run(choose, moment, tokens, guess, self._cheapest)
        if lowest < math.inf:
            self._price = smoothed_price(self._price, float(lowest))
        self._open_wards()
        if self._wards.knob[0, LABOUR] > PATIENCE * len(self) + 10_000:
            self._reconsider_tuning()
        return np.asarray(picked, np.int64)

    def _guess(self, tokens: float) -> int:
        """About how many sources the budget pays for; exact where all cost the same."""
        if len(self) == 0 or tokens * FITS < self._cheapest:
            return 0
        cost = self._catalogue.cost
        typical = float(cost[0]) if len(cost) == 1 else float(cost[: self._size : max(1, self._size // 1024)].mean())
        return int(min(max(tokens * FITS / typical, 1), self._size))

    def _reconsider_tuning(self) -> None:
        """Tune the wheel anew if the price has moved so far that its slots no longer suit."""
        sample = np.arange(0, self._size, max(1, self._size // 4096))
        frequency = revisits(self._catalogue, sample, self._wards.dial[0, MARK])
        self._wards.knob[0, LABOUR] = 0
        if not 0.5 < STEEP * frequency / self._wards.dial[0, STEEPNESS] < 2.0:
            self._run(untune, 0)

    # -- changing

    def add(
        self,
        value: npt.ArrayLike,
        rate: npt.ArrayLike,
        cost: npt.ArrayLike = 1.0,
        *,
        last: npt.ArrayLike | None = None,
        group: npt.ArrayLike | None = None,
        max_age: npt.ArrayLike = math.inf,
    ) -> IntArray:
        """Take in sources, described as at construction; their ids, which follow on from those given before."""
        columns = {
            "value": checked("value", value, "finite and >= 0"),
            "rate": checked("rate", rate, "finite and >= 0"),
            "cost": checked("cost", cost, COST, open_low=True),
            "last": arguments.last_crawls(-math.inf if last is None else last),
            "max_age": arguments.max_ages(max_age),
        }
        if self._grouped != (group is not None):
            raise ParameterError("group", "given for all sources or for none", "a mixture")
        if group is not None:
            columns["group"] = arguments.group_numbers("group", group)
        flat = dict(zip(columns, arguments.one_per_source(columns), strict=True))
        first, end = self._size, self._size + len(flat["value"])
        if end == first:
            return np.empty(0, np.int64)
        self._catalogue = capacity.catalogue_for(self._catalogue, end, self._grouped)
        self._write(first, end, flat)
        self._size = end
        never = int(np.count_nonzero(np.isneginf(flat["last"])))
        self._run(edits.admit, first, end, more=end - first, enrolled=never)
        return np.arange(first, end)

    def _write(self, first: int, end: int, flat: dict[str, FloatArray]) -> None:
        catalogue = self._catalogue
        catalogue.record[first:end, VALUE] = flat["value"]
        catalogue.record[first:end, RATE] = flat["rate"]
        catalogue.record[first:end, LAST] = flat["last"]
        catalogue.record[first:end, NOT_BEFORE] = -math.inf
        for name in ("cost", "max_age"):
            self._write_shared(name, first, end, flat[name])
        self._cheapest = min(self._cheapest, float(flat["cost"].min()))
        if "group" in flat:
            catalogue.group[first:end] = flat["group"]
            self._grow_hosts(int(flat["group"].max()) + 1)

    def _write_shared(self, name: str, first: int, end: int, given: FloatArray) -> None:
        """Write a column that is kept as one number while all sources agree."""
        column: FloatArray = getattr(self._catalogue, name)
        if len(column) == 1 and (first == 0 or given[0] == column[0]) and (given == given[0]).all():
            column[0] = given[0]
            return
        self._spread(name)[first:end] = given

    def _spread(self, name: str) -> FloatArray:
        """A column that may be kept as one number, with one element per source from now on."""
        column: FloatArray = getattr(self._catalogue, name)
        if len(column) == 1:
            column = np.full(max(len(self._catalogue.place), 2), column[0])
            spreads: Any = {name: column}
            self._catalogue = self._catalogue._replace(**spreads)
        return column

    def update(self, ids: npt.ArrayLike, value: npt.ArrayLike | None = None, rate: npt.ArrayLike | None = None) -> None:
        """Change what is believed of some sources."""
        which = self._known(ids)
        record = self._catalogue.record
        values = record[which, VALUE] if value is None else checked("value", value, "finite and >= 0")
        rates = record[which, RATE] if rate is None else checked("rate", rate, "finite and >= 0")
        self._amend(
            edits.set_beliefs,
            which,
            arguments.one_per_id("value", values, which),
            arguments.one_per_id("rate", rates, which),
        )

    def configure(
        self, ids: npt.ArrayLike, cost: npt.ArrayLike | None = None, max_age: npt.ArrayLike | None = None
    ) -> None:
        """Change what crawls of some sources cost, or from which age on they are overdue."""
        which = self._known(ids)
        spent = (
            None if cost is None else arguments.one_per_id("cost", checked("cost", cost, COST, open_low=True), which)
        )
        ages = None if max_age is None else arguments.one_per_id("max_age", arguments.max_ages(max_age), which)
        if len(which) == 0:
            return
        if spent is not None:
            self._cheapest = min(self._cheapest, float(spent.min()))
            self._spread("cost")[which] = spent
        if ages is not None:
            self._spread("max_age")[which] = ages
        self.update(which)

    def crawled(self, ids: npt.ArrayLike, at: npt.ArrayLike) -> None:
        """The last crawl of some sources was at this time (-inf: there was none), whoever did it."""
        which = self._known(ids)
        self._amend(edits.set_last, which, arguments.one_per_id("at", arguments.last_crawls(at, "at"), which))

    def defer(self, ids: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """Some sources may not be chosen before a time (Retry-After, in flight); replaces what was said before."""
        which = self._known(ids)
        self._amend(edits.set_not_before, which, arguments.one_per_id("until", arguments.times_until(until), which))

    def remove(self, ids: npt.ArrayLike) -> None:
        """Forget some sources; their ids are not used again."""
        which = self._known(ids)
        self._run(edits.dismiss, which)
        self._gone += len(which)

    def hold(self, groups: npt.ArrayLike, until: npt.ArrayLike) -> None:
        """No source of these groups may be chosen before a time; replaces what was said before."""
        if not self._grouped:
            raise ParameterError("groups", "used only where sources were given groups", "a calendar without groups")
        which = np.atleast_1d(arguments.group_numbers("groups", groups).astype(np.int64))
        self._grow_hosts(int(which.max(initial=-1)) + 1)
        self._amend(edits.set_holds, which, arguments.one_per_id("until", arguments.times_until(until), which))

    def _amend(self, change: Any, which: IntArray, *values: FloatArray) -> None:
        self._run(change, which, *values, more=len(which))

    def _known(self, ids: npt.ArrayLike) -> IntArray:
        """The ids as an array, or an error that names the first that is unknown, gone or there twice."""
        which = np.atleast_1d(np.asarray(ids))
        if which.size == 0:
            return np.empty(0, np.int64)
        if which.ndim != 1 or which.dtype.kind not in "iu":
            raise ParameterError("ids", "whole numbers, one-dimensional", repr(ids))
        outside = (which < 0) | (which >= self._size)
        bad = outside.copy()
        bad[~outside] = self._catalogue.place[which[~outside]] == GONE
        if bad.any():
            k = int(np.argmax(bad))
            raise ParameterError("ids", "ids of sources in the calendar", which[k], (k,))
        if len(which) > 1 and len(np.unique(which)) < len(which):
            raise ParameterError("ids", "distinct", "an id twice")
        return which.astype(np.int64)

    # -- keeping

    def save(self, path: str | Path) -> None:
        """Write the whole state to one file."""
        used, newcomers = int(self._chains.ledger[UNUSED]), int(self._chains.ledger[NEWCOMERS])
        trimmed = {"blocks": used, "newcomers": newcomers, "ceilings": newcomers}
        parts: tuple[Any, ...] = (self._catalogue, self._chains, self._wards, self._hosts)
        state = {}
        for kind, part in zip(PARTS_IN_FILE, parts, strict=True):
            for name, array in part._asdict().items():
                size = self._size if part is self._catalogue and len(array) > 1 else len(array)
                state[f"{kind}.{name}"] = array[: trimmed.get(name, size)]
        snapshot.save(arguments.file_path(path), state, {name: getattr(self, f"_{name}") for name in NUMBERS_IN_FILE})

    @classmethod
    def load(cls, path: str | Path) -> Calendar:
        """A calendar as it was saved: it chooses as the saved one would have."""
        calendar = cls.__new__(cls)
        state, numbers = snapshot.load(arguments.file_path(path))
        calendar._catalogue, calendar._chains, calendar._wards, calendar._hosts = (
            part(**{name: state[f"{kind}.{name}"] for name in part._fields}) for kind, part in PARTS_IN_FILE.items()
        )
        for name, kind in NUMBERS_IN_FILE.items():
            setattr(calendar, f"_{name}", kind(numbers[name]))
        return calendar

    # -- room

    def _run(self, compiled: Any, *arguments: Any, more: int = 0, enrolled: int = 0) -> Any:
        """Call a compiled function, with room for all it may write: the only way compiled code is reached.

        `more` is how many sources or groups the call names, `enrolled` how many of them become newcomers.
        """
        self._chains = capacity.chains_for(self._chains, len(self._hosts.until), more, enrolled)
        return compiled(self._catalogue, self._chains, self._wards, self._hosts, *arguments)

    def _grow_hosts(self, groups: int) -> None:
        self._chains, self._hosts = capacity.hosts_for(self._chains, self._hosts, groups)

    def _new_ward(self, slots: int, group: int) -> int:
        self._chains, self._wards = capacity.another_ward(self._chains, self._wards, slots, group)
        return len(self._wards.dial) - 1

    def _open_wards(self) -> None:
        """Give every host that turned out to be crowded a ward of its own."""
        crowds = int(self._chains.ledger[CROWDS])
        self._chains.ledger[CROWDS] = 0
        for group in self._hosts.table[:crowds, CROWD].copy():
            if self._hosts.table[group, WARD] == 0:
                # fewer slots where there are many wards
                share = len(self) // (SOURCES_PER_SLOT * len(self._wards.dial))
                ward = self._new_ward(_power_of_two(share, 16, HOST_SLOTS), int(group))
                self._run(edits.open_ward, group, ward)


def _power_of_two(number: int, low: int, high: int) -> int:
    return min(max(1 << max(number, 1).bit_length(), low), high)
