"""The words every room uses: what a source is, what a crawl showed.

Records hold plain arrays and check them once, on the way in, so that kernels and policies never have to. They know
nothing of time passing, of scheduling or of where the numbers came from. It is long for what it checks, not for what
it does: every argument is named in its error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from recrawl.arguments import instant, moment, one_of, several, shown
from recrawl.errors import ParameterError
from recrawl.units import parse_duration

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
LifetimeForm = Literal["exact", "paper"]
Listed = tuple[IntArray, FloatArray]
"""What a list says: pages, and when each was last modified; NaN where it does not say."""


def checked(
    argument: str,
    value: npt.ArrayLike,
    expected: str,
    *,
    low: float = 0.0,
    high: float = np.inf,
    open_low: bool = False,
) -> FloatArray:
    """Return `value` as float64, or name the first element outside [low, high] (or (low, high] if `open_low`).

    NaN is never valid; infinity only where `high` is infinite and `expected` says so by containing "inf".
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(argument, expected, shown(value)) from error
    bad = ~((array > low) if open_low else (array >= low)) | ~(array <= high)
    if "inf" not in expected:
        bad |= np.isinf(array)
    _refuse(argument, expected, array, bad)
    return array


def _refuse(argument: str, expected: str, values: FloatArray, bad: BoolArray) -> None:
    """Name the first bad element, if there is one."""
    if bad.any():
        element = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ParameterError(argument, expected, values[element], element or None)


def broadcast(**arrays: FloatArray) -> list[FloatArray]:
    """Broadcast named arrays against each other, or say which shapes do not match."""
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ParameterError("shapes", "broadcastable against each other", shapes) from error


def durations(argument: str, value: Any) -> npt.ArrayLike:
    """Times, each a number, a timedelta or text such as `6h`, as numbers; what is wrong with them is for `checked`."""
    if isinstance(value, str | timedelta):
        return parse_duration(argument, value)
    if isinstance(value, list | tuple) and any(isinstance(each, str | timedelta) for each in value):
        return [parse_duration(argument, each) if isinstance(each, str | timedelta) else each for each in value]
    given: npt.ArrayLike = value
    return given


def moments(argument: str, value: Any) -> npt.ArrayLike:
    """Moments, each a number or a datetime, as numbers; what is wrong with them is for `checked`."""
    if isinstance(value, datetime):
        return moment(argument, value)
    if isinstance(value, list | tuple) and any(isinstance(each, datetime) for each in value):
        return [moment(argument, each) if isinstance(each, datetime) else each for each in value]
    given: npt.ArrayLike = value
    return given


def whole_numbers(argument: str, value: Any, expected: str = "whole numbers") -> IntArray:
    """An array of whole numbers, one-dimensional."""
    try:
        array = np.atleast_1d(np.asarray(value))
    except ValueError as error:
        raise ParameterError(argument, expected, shown(value)) from error
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ParameterError(argument, expected, shown(value))
    return array.astype(np.int64, copy=False)


def _truths(argument: str, value: Any) -> BoolArray:
    array: npt.NDArray[Any] = np.atleast_1d(np.asarray(value))
    if array.dtype.kind == "b":
        return array
    if array.size and (array.dtype.kind not in "iu" or not np.isin(array, (0, 1)).all()):
        raise ParameterError(argument, "True or False for each id", shown(value))
    return array.astype(np.bool_, copy=False)


def _counts(argument: str, value: Any) -> IntArray:
    expected = "a whole number >= 0 for each id"
    counts = np.atleast_1d(checked(argument, value, expected, high=2.0**53))
    _refuse(argument, expected, counts, counts != np.floor(counts))
    return counts.astype(np.int64)


def _worths(argument: str, value: Any) -> FloatArray:
    return np.atleast_1d(checked(argument, value, "finite", low=-np.inf))


def _lists(argument: str, value: Any) -> list[FloatArray]:
    """One list of numbers, or of moments, per id."""
    out, expected = [], "a list of numbers for each id"
    for place, each in enumerate(several(argument, value, expected)):
        try:
            numbers = np.asarray(moments(argument, each), np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(argument, expected, shown(each), (place,)) from error
        if np.isnan(numbers).any():
            raise ParameterError(argument, expected, "NaN", (place, int(np.argmax(np.isnan(numbers)))))
        out.append(numbers)
    return out


def _sitemaps(argument: str, value: Any) -> list[Listed | None]:
    """What each visit to a list showed; None for a visit to anything else."""
    expected = "(page ids, lastmod) for each id that is a list, else None"
    return [
        None if each is None else _listed(argument, each, expected, place)
        for place, each in enumerate(several(argument, value, expected))
    ]


def _listed(argument: str, entry: Any, expected: str, place: int) -> Listed:
    if not isinstance(entry, tuple | list) or len(entry) != 2:
        raise ParameterError(argument, expected, shown(entry), (place,))
    pages = whole_numbers(argument, entry[0], "whole numbers >= 0 for pages")
    if len(pages) and (pages.min() < 0 or len(np.unique(pages)) < len(pages)):
        raise ParameterError(argument, "distinct whole numbers >= 0 for the pages of a list", shown(entry[0]), (place,))
    stated = "finite numbers or datetimes for lastmod, NaN where it is not said"
    try:
        lastmod = np.atleast_1d(np.asarray(moments(argument, entry[1]), np.float64))
    except (TypeError, ValueError) as error:
        raise ParameterError(argument, stated, shown(entry[1]), (place,)) from error
    if lastmod.shape != pages.shape:
        raise ParameterError(argument, f"a lastmod per page ({len(pages)})", f"shape {lastmod.shape}", (place,))
    if np.isinf(lastmod).any():
        at = int(np.argmax(np.isinf(lastmod)))
        raise ParameterError(argument, stated, lastmod[at], (place, at))
    return pages, lastmod


_SHOWN: dict[str, Callable[[str, Any], Any]] = {
    "changed": _truths,
    "published": _lists,
    "worth": _worths,
    "interest": _lists,
    "new": _counts,
    "failed": _truths,
    "sitemap": _sitemaps,
}
"""What a visit may have shown, and how it is checked."""


@dataclass(frozen=True, eq=False)
class Sources:
    """A catalogue in the papers' slotted time: worth grows as x ← αx + u and falls to u when crawled.

    Build it with :meth:`ephemeral` or :meth:`changing`; both are the same bandit [docs/design/002].

    Parameters are arrays of one length N:
        decay_rate: r, decay per slot; α = e^{−r}
        ceiling: u*, the worth a source tends to when never crawled
        inflow: u, the expected worth added per slot
        cost: C, what one crawl spends of the budget
        lifetime: slots after which an item is dropped; inf for never
        lifetime_form: "exact" (worth saturates at the lifetime) or "paper" ([allerton2019]: u shrinks by 1−α^M)
        arrivals_per_slot: expected new items per slot; change probability for changing pages
        interest: mean initial interest of an item; importance of a page
    """

    decay_rate: FloatArray
    ceiling: FloatArray
    inflow: FloatArray
    cost: FloatArray
    lifetime: FloatArray
    arrivals_per_slot: FloatArray
    interest: FloatArray
    kind: Literal["ephemeral", "changing"]
    lifetime_form: LifetimeForm = "exact"

    @classmethod
    def ephemeral(
        cls,
        arrival_rate: npt.ArrayLike,
        interest: npt.ArrayLike,
        decay: npt.ArrayLike,
        cost: npt.ArrayLike = 1.0,
        period: float = 1.0,
        lifetime: npt.ArrayLike = np.inf,
        lifetime_form: LifetimeForm = "exact",
    ) -> Sources:
        """Sources that publish items whose interest fades [tcns2018, (1)].

        `arrival_rate` Λ and `decay` μ are per time unit, `period` T is the length of a slot in the same unit, and
        `lifetime` is in slots.

        >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7], decay=[0.7, 0.35])
        >>> table.inflow.round(2).tolist()
        [179.79, 147.66]
        """
        one_of("lifetime_form", lifetime_form, ("exact", "paper"))
        if np.ndim(period) != 0:
            raise ParameterError("period", "one number, the same for all sources", f"shape {np.shape(period)}")
        slot = float(checked("period", period, "a positive finite number", open_low=True))
        rate, mean, fading, spend, life = broadcast(
            arrival_rate=checked("arrival_rate", arrival_rate, "finite and >= 0"),
            interest=checked("interest", interest, "finite and >= 0"),
            decay=checked("decay", decay, "finite and > 0", open_low=True),
            cost=checked("cost", cost, "finite and > 0", open_low=True),
            lifetime=checked("lifetime", lifetime, "a whole number of slots >= 1, or inf", low=1.0),
        )
        _refuse("lifetime", "a whole number of slots >= 1, or inf", life, np.isfinite(life) & (life != np.floor(life)))
        with np.errstate(over="ignore", invalid="ignore"):
            decay_rate, forever, items = fading * slot, rate * mean / fading, rate * slot
        _refuse("decay", "large enough that decay * period is above 0", fading, decay_rate <= 0.0)
        _refuse("decay", "large enough that arrival_rate * interest / decay is finite", fading, ~np.isfinite(forever))
        _refuse("arrival_rate", "such that arrival_rate * period is finite", rate, np.isinf(items))
        kept = -np.expm1(-decay_rate * life)  # 1 − α^M, 1 where nothing is dropped
        inflow = forever * -np.expm1(-decay_rate)
        return cls._of(
            "ephemeral",
            lifetime_form,
            decay_rate=decay_rate,
            ceiling=forever * kept,
            inflow=inflow * kept if lifetime_form == "paper" else inflow,
            cost=spend,
            lifetime=life,
            arrivals_per_slot=items,
            interest=mean,
        )

    @classmethod
    def changing(
        cls, change_probability: npt.ArrayLike, importance: npt.ArrayLike, cost: npt.ArrayLike = 1.0
    ) -> Sources:
        """Pages that change with a given probability per slot, worth their importance once changed [icc2021].

        >>> Sources.changing(change_probability=0.25, importance=2).decay_factor.tolist()
        [0.75]
        """
        change, weight, spend = broadcast(
            change_probability=checked("change_probability", change_probability, "a probability in [0, 1]", high=1.0),
            importance=checked("importance", importance, "finite and >= 0"),
            cost=checked("cost", cost, "finite and > 0", open_low=True),
        )
        with np.errstate(divide="ignore"):
            decay_rate = -np.log1p(-change)
        # A page that never changes never gains worth: its ceiling is 0, not its importance.
        ceiling = np.where(change > 0, weight, 0.0)
        return cls._of(
            "changing",
            "exact",
            decay_rate=decay_rate,
            ceiling=ceiling,
            inflow=weight * change,
            cost=spend,
            lifetime=np.full_like(change, np.inf),
            arrivals_per_slot=change,
            interest=weight,
        )

    @classmethod
    def _of(cls, kind: Literal["ephemeral", "changing"], lifetime_form: LifetimeForm, **arrays: FloatArray) -> Sources:
        if any(np.size(array) == 0 for array in arrays.values()):
            raise ParameterError("sources", "at least one", "none")
        flat = {n: np.ascontiguousarray(np.atleast_1d(a), dtype=np.float64).copy() for n, a in arrays.items()}
        for name, array in flat.items():
            if array.ndim != 1:
                raise ParameterError(name, "one-dimensional (one element per source)", f"shape {array.shape}")
            array.setflags(write=False)
        # A thousandfold margin keeps every sum and product of the index formulas finite too.
        dear = flat["ceiling"] > np.minimum(flat["cost"], 1.0) * (np.finfo(np.float64).max / 1e3)
        if dear.any():
            i = int(np.argmax(dear))
            raise ParameterError("cost", "large enough that worth per cost stays finite", flat["cost"][i], (i,))
        return cls(kind=kind, lifetime_form=lifetime_form, **flat)

    def __len__(self) -> int:
        return len(self.ceiling)

    @property
    def decay_factor(self) -> FloatArray:
        """α, what is left of an item's worth after one slot."""
        factor: FloatArray = np.exp(-self.decay_rate)
        return factor

    @property
    def unbounded_ceiling(self) -> FloatArray:
        """The ceiling if no item were ever dropped: u/(1−α), equal to `ceiling` unless a lifetime is exact."""
        if not self.saturates:
            return self.ceiling
        kept = -np.expm1(-self.decay_rate * self.lifetime)
        unbounded = np.divide(self.ceiling, kept, out=np.zeros_like(kept), where=kept > 0)
        unbounded.setflags(write=False)
        return unbounded

    @property
    def exact_lifetime(self) -> FloatArray:
        """Slots after which worth stops growing: the lifetime in its exact form, else inf."""
        return np.where(self.lifetime_form == "exact", self.lifetime, np.inf)

    @property
    def saturates(self) -> bool:
        """Whether some item is dropped at an exact lifetime, so that the index depends on slots, not on worth."""
        return self.lifetime_form == "exact" and bool(np.isfinite(self.lifetime).any())

    def take(self, ids: npt.ArrayLike) -> Sources:
        """The catalogue restricted to some sources, in the order given."""
        chosen = whole_numbers("ids", ids)
        outside = (chosen < 0) | (chosen >= len(self))
        if outside.any():
            place = int(np.argmax(outside))
            raise ParameterError("ids", f"known sources (0 to {len(self) - 1})", int(chosen[place]), (place,))
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.type == "FloatArray"}
        return self._of(self.kind, self.lifetime_form, **{name: array[chosen] for name, array in arrays.items()})


def known_sources(sources: Any) -> Sources:
    """Sources, and nothing else."""
    if not isinstance(sources, Sources):
        raise ParameterError("sources", "Sources, such as Sources.ephemeral(…)", shown(sources))
    return sources


@dataclass(frozen=True, eq=False)
class Visits:
    """What a batch of crawls at one moment showed, per id; a field that is None was not looked at.

    Parameters:
        ids: targets visited, distinct
        now: when
        changed: whether the page differed from the last visit (False on a first visit, which is only the baseline)
        published: per id, the publication times of the items that were new
        worth: per id, the worth collected
        interest: per id, the interest of each new item
        new: per id, the number of new items without a date
        failed: whether the crawl failed; a failed crawl teaches nothing else
        sitemap: per id, what a list (a sitemap, an index) said: page ids and when each was last modified, in Unix
            seconds, NaN where it is not said; None for a visit that was to no list

    >>> visits = Visits([7, 9], 100.0, sitemap=[None, ([3, 4], [50.0, float("nan")])])
    >>> visits.of_lists.tolist()
    [False, True]
    """

    ids: IntArray
    now: float
    changed: BoolArray | None = None
    published: Sequence[npt.ArrayLike] | None = None
    worth: FloatArray | None = None
    interest: Sequence[npt.ArrayLike] | None = None
    new: IntArray | None = None
    failed: BoolArray | None = None
    sitemap: Sequence[Listed | None] | None = None

    def __post_init__(self) -> None:
        ids = whole_numbers("ids", self.ids)
        if len(ids) and ids.min() < 0:
            raise ParameterError("ids", "whole numbers >= 0", ids.tolist())
        if len(ids) > 1 and len(np.unique(ids)) < len(ids):
            raise ParameterError("ids", "distinct", ids.tolist())
        object.__setattr__(self, "now", instant("now", self.now))
        object.__setattr__(self, "ids", ids)
        for name, rule in _SHOWN.items():
            given = getattr(self, name)
            if given is None:
                continue
            value = rule(name, given)
            if len(value) != len(ids):
                raise ParameterError(name, f"one entry per id ({len(ids)})", f"{len(value)} entries")
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def of_lists(self) -> BoolArray:
        """Which of the visits showed a list."""
        if self.sitemap is None:
            return np.zeros(len(self), dtype=bool)
        listed = np.array([entry is not None for entry in self.sitemap], dtype=bool)
        return listed if self.failed is None else listed & ~self.failed

    def renumbered(self, ids: IntArray) -> Visits:
        """The same visits, to be known by other ids; pages that a list names keep theirs."""
        twin = object.__new__(Visits)
        vars(twin).update(vars(self), ids=ids)
        return twin
