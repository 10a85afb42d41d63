"""What callers may ask of a policy, checked before anything is done: a wrong question changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.arguments import instant, number, shown, whole
from recrawl.errors import ParameterError
from recrawl.records import (
    BoolArray,
    FloatArray,
    IntArray,
    Listed,
    Sources,
    Visits,
    checked,
    durations,
    moments,
    whole_numbers,
)


def choice(now: Any, budget: Any) -> tuple[float, float]:
    """When a choice is made, and what it may spend."""
    return instant("now", now), number("budget", budget, "a number >= 0, or inf")


def beginning(
    targets: Any, now: Any, sources: Any, groups: Any, labels: Sequence[str] | None, fewest: int = 0
) -> tuple[int, float, IntArray | None]:
    """How many targets a policy starts with, when, and their groups."""
    count, begun = whole("targets", targets, low=fewest), instant("now", now)
    if sources is not None and not isinstance(sources, Sources):
        raise ParameterError("sources", "Sources, or None", shown(sources))
    for name, given in (("sources", sources), ("labels", labels)):
        if given is not None and len(given) != count:
            raise ParameterError(name, f"one per target ({count})", f"{len(given)} {name}")
    return count, begun, None if groups is None else group_numbers(groups, count)


def more(count: Any, labels: Sequence[str] | None) -> int:
    """How many targets are added."""
    new = whole("count", count)
    if labels is not None and len(labels) != new:
        raise ParameterError("labels", f"one per target ({new})", f"{len(labels)} labels")
    return new


def known(ids: npt.ArrayLike, targets: int, argument: str = "ids") -> IntArray:
    """Targets there are."""
    chosen = whole_numbers(argument, ids)
    if len(chosen) == 0 or (chosen.min() >= 0 and chosen.max() < targets):
        return chosen
    place = int(np.argmax((chosen < 0) | (chosen >= targets)))
    raise ParameterError(argument, f"a known target (0 to {targets - 1})", int(chosen[place]), (place,))


def states_of(states: npt.ArrayLike | None, targets: int) -> FloatArray | None:
    """The worth of every target as the caller sees it."""
    if states is None:
        return None
    expected = f"one number per target ({targets}), NaN where unobserved"
    try:
        worth = np.asarray(states, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError("states", expected, shown(states)) from error
    if worth.shape != (targets,):
        raise ParameterError("states", expected, f"shape {worth.shape}")
    return worth


def visits_of(visits: Any) -> Visits:
    """What crawls showed."""
    if not isinstance(visits, Visits):
        raise ParameterError("visits", "recrawl.Visits", shown(visits))
    return visits


def listings(visits: Visits) -> list[Listed]:
    """What the lists among the visits said."""
    return [entry for entry in visits.sitemap or () if entry is not None]


def signalled(now: Any, at: npt.ArrayLike | None, count: int) -> tuple[float, FloatArray]:
    """When a signal came, and since when each target is said to have changed."""
    heard = instant("now", now)
    return heard, np.full(count, heard) if at is None else _said("at", at, count)


def _said(name: str, given: npt.ArrayLike, count: int) -> FloatArray:
    since = checked(name, moments(name, given), "a finite time", low=-np.inf)
    if since.ndim and since.shape != (count,):
        raise ParameterError(name, f"one time or one per id ({count})", f"shape {since.shape}")
    return np.broadcast_to(since, (count,))


def group_numbers(groups: npt.ArrayLike, targets: int) -> IntArray:
    """The host number of each target."""
    numbers = whole_numbers("groups", groups, f"one host number per target ({targets})")
    if len(numbers) != targets:
        raise ParameterError("groups", f"one host number per target ({targets})", f"shape {numbers.shape}")
    return numbers


def times(name: str, given: npt.ArrayLike, count: int) -> FloatArray:
    """One time per id; -inf for a hold that is over."""
    until = checked(name, moments(name, given), "a time, inf for always, -inf for never", low=-np.inf)
    if until.ndim and until.shape != (count,):
        raise ParameterError(name, f"one time or one per id ({count})", f"shape {until.shape}")
    return np.broadcast_to(until, (count,))


def numbers(name: str, given: npt.ArrayLike, expected: str, count: int, *, open_low: bool = False) -> FloatArray:
    """A number, or one per id."""
    figures = checked(name, given, expected, open_low=open_low)
    if figures.ndim and figures.shape != (count,):
        raise ParameterError(name, f"one number or one per id ({count})", f"shape {figures.shape}")
    return np.broadcast_to(figures, (count,))


def own_times(name: str, given: npt.ArrayLike, expected: str, count: int) -> FloatArray:
    """A time, or one per id, each a number or text such as `6h`; NaN for the usual one."""
    lengths = durations(name, given)
    try:
        figures = np.asarray(lengths, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(name, expected, shown(given)) from error
    known_ones = np.where(np.isnan(figures), 1.0, figures)
    numbers(name, known_ones, f"{expected}, or NaN for the usual one", count, open_low=True)
    return np.broadcast_to(figures, (count,))


def some_visits(visits: Visits, which: BoolArray) -> Visits:
    """Some of the visits."""
    places = np.flatnonzero(which)
    kept: dict[str, Any] = {}
    for field in fields(visits):
        value = getattr(visits, field.name)
        if field.name == "now" or value is None:
            kept[field.name] = value
        elif isinstance(value, np.ndarray):
            kept[field.name] = value[places]
        else:
            kept[field.name] = [value[k] for k in places]
    return Visits(**kept)
