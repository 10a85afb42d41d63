"""The laws of honesty by which synthetic sites say in their lists when pages changed.

==================  ================================================================================================
`honest`            tells of every change at once, with its time
`forgetful`         leaves out a share of the changes
`nightly`           tells of changes at the next virtual midnight, with their true time
`touchy`            tells of every change, and now and then of one that never was
`rebuilt`           sets the time of every page to that of the rebuild, each virtual night
`rebuilt_weekly`    the same each virtual week
`silent`            lists pages and says nothing of times
==================  ================================================================================================

What a list says follows from its seed and from the changes of its pages, never from who asked or when. Times are
virtual hours, as in :mod:`recrawl.synthweb.laws`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from recrawl.errors import ParameterError
from recrawl.synthweb.laws import Arrivals, BoolArray, FloatArray, Law

DAY_H, WEEK_H = 24.0, 168.0
FALSE_HISTORY = 6.0


class ListLaw(msgspec.Struct, frozen=True, kw_only=True):
    """How one list tells of changes.

    Parameters
        name: of the law
        left_out: share of the changes it never tells of
        told_every_h: changes are told of at the next multiple of it; 0 for at once
        false_per_h: changes of each page per virtual hour that it tells of and that never were
        rebuilt_every_h: at each multiple of it the times of all pages are set to that moment; 0 for never. Of changes
            it then says nothing else
        dated: whether it says when pages changed at all
    """

    name: str
    left_out: float = 0.0
    told_every_h: float = 0.0
    false_per_h: float = 0.0
    rebuilt_every_h: float = 0.0
    dated: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.left_out <= 1.0:
            raise ParameterError("left_out", "in [0, 1]", self.left_out)
        for name in ("told_every_h", "false_per_h", "rebuilt_every_h"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise ParameterError(name, "finite and >= 0", getattr(self, name))


LIST_LAWS: dict[str, ListLaw] = {
    law.name: law
    for law in (
        ListLaw(name="honest"),
        ListLaw(name="forgetful", left_out=0.4),
        ListLaw(name="nightly", told_every_h=DAY_H),
        ListLaw(name="touchy", false_per_h=0.1),
        ListLaw(name="rebuilt", rebuilt_every_h=DAY_H),
        ListLaw(name="rebuilt_weekly", rebuilt_every_h=WEEK_H),
        ListLaw(name="silent", dated=False),
    )
}
ALL, NO_LISTS = "mixed", "none"


def laws_named(names: str) -> list[ListLaw]:
    """The laws of a mix: `none`, `mixed` for all of them, or names with commas between.

    >>> [law.name for law in laws_named("honest,rebuilt")]
    ['honest', 'rebuilt']
    """
    if names == NO_LISTS:
        return []
    wanted = list(LIST_LAWS) if names == ALL else [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in LIST_LAWS:
            raise ParameterError("lists", f"{NO_LISTS}, {ALL}, or some of {', '.join(LIST_LAWS)}", repr(name))
    return [LIST_LAWS[name] for name in wanted]


class Told(NamedTuple):
    """What a list has told of one page, in the order in which it told it; times in virtual hours.

    at: when each time came to stand in the list
    lastmod: the time it states
    true: whether the page changed since what the list said before
    """

    at: FloatArray
    lastmod: FloatArray
    true: BoolArray


class LastTold(NamedTuple):
    """The last that a list told of a page: when, and which time it stated, in virtual hours."""

    at: float
    lastmod: float


class ListedPage:
    """One page in a list, told of as far as anybody has asked.

    Parameters
        law: of the list
        changes: of the page
        seed: of all that chance decides here
    """

    __slots__ = ("_changes", "_false", "_last", "_law", "_luck", "_random")

    def __init__(self, law: ListLaw, changes: Arrivals, seed: Sequence[int]) -> None:
        self._law, self._changes = law, changes
        self._random, self._luck = np.random.default_rng([*seed, 1]), np.empty(0)
        false = Law(rate=law.false_per_h)
        self._false = Arrivals(false, [*seed, 2], FALSE_HISTORY) if law.false_per_h > 0.0 else None
        self._last: tuple[tuple[float, ...], LastTold | None] | None = None

    def told(self, hour: float) -> Told:
        """All that stood in the list by that virtual hour, also of the time before hour 0; of a silent list nothing."""
        return self._told(hour if self._law.dated else -np.inf)

    def last(self, hour: float) -> LastTold | None:
        """What stood in the list last by that virtual hour, or would stand in a silent one; None for nothing."""
        law = self._law
        state = (
            self._changes.count(hour),
            0 if self._false is None else self._false.count(hour),
            hour // law.told_every_h if law.told_every_h > 0.0 else 0.0,
            hour // law.rebuilt_every_h if law.rebuilt_every_h > 0.0 else 0.0,
        )
        if self._last is None or self._last[0] != state:
            told = self._told(hour)
            self._last = state, LastTold(float(told.at[-1]), float(told.lastmod[-1])) if len(told.at) else None
        return self._last[1]

    def _told(self, hour: float) -> Told:
        changes = self._changes.between(-np.inf, hour)
        if self._law.rebuilt_every_h > 0.0:
            return _rebuilt(changes, hour, self._law.rebuilt_every_h)
        changes = changes[self._mentioned(len(changes))]
        period = self._law.told_every_h
        at = np.ceil(changes / period) * period if period > 0.0 else changes
        told = Told(at, changes, np.ones(len(at), dtype=bool))
        return _up_to(told if self._false is None else _with_false(told, self._false.between(-np.inf, hour)), hour)

    def _mentioned(self, count: int) -> BoolArray:
        """Which of the first so many changes the list tells of; the first of all is when the page came to be listed."""
        if self._law.left_out == 0.0:
            return np.ones(count, dtype=bool)
        if count > len(self._luck):
            self._luck = np.append(self._luck, self._random.uniform(size=count - len(self._luck)))
        mentioned = self._luck[:count] >= self._law.left_out
        mentioned[:1] = True
        return mentioned


def _up_to(told: Told, hour: float) -> Told:
    """What had been told by then."""
    by_then = int(np.searchsorted(told.at, hour, side="right"))
    return Told(told.at[:by_then], told.lastmod[:by_then], told.true[:by_then])


def _with_false(told: Told, false: FloatArray) -> Told:
    """The same with changes that never were, each told of at once."""
    at = np.concatenate([told.at, false])
    order = np.argsort(at, kind="stable")
    lastmod = np.concatenate([told.lastmod, false])
    true = np.concatenate([told.true, np.zeros(len(false), dtype=bool)])
    return Told(at[order], lastmod[order], true[order])


def _rebuilt(changes: FloatArray, hour: float, period: float) -> Told:
    """A list built anew at every multiple of the period, from the last one before hour 0 or the first change on."""
    first = min(float(changes[0]), 0.0) if len(changes) else 0.0
    at = np.arange(np.floor(first / period), np.floor(hour / period) + 1.0) * period
    changed = np.diff(np.searchsorted(changes, at, side="right"), prepend=0) > 0
    return Told(at, at.copy(), changed)
