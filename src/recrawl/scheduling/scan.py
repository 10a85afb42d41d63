"""The dense form: look at every source, keep the best.

For catalogues small enough to look through at every call, for models whose index does not rise with age, and as the
oracle of the calendar. One pass over all sources: a candidate must beat the worst of the best so far, so that nearly
all are dismissed by one comparison.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.kernels.arguments import aligned, as_float
from recrawl.kernels.continuous_index import index_at_age
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.scheduling.ranking import bring_first, put_in_order

# The same allowance for sums of costs in floating point as the calendar's.
FITS = 1.0 + 1e-12


@njit(cache=True)
def _indices(
    value: FloatArray, rate: FloatArray, last: FloatArray, cost: FloatArray, now: float, out: FloatArray
) -> None:
    for i in range(len(out)):
        out[i] = index_at_age(value[i], rate[i], max(now - last[i], 0.0), cost[i])


@njit(cache=True)
def _best(
    value: FloatArray,
    rate: FloatArray,
    last: FloatArray,
    cost: FloatArray,
    allowed: BoolArray,
    now: float,
    count: int,
) -> IntArray:
    """The first `count` of the ranking among sources with a positive index."""
    room = 4 * count + 64
    index, ids = np.empty(room), np.empty(room, np.int64)
    held, threshold = 0, 0.0
    everyone = len(allowed) == 0
    for i in range(len(value)):
        merit = index_at_age(value[i], rate[i], max(now - last[i], 0.0), cost[i])
        if merit < threshold or merit == 0.0 or not (everyone or allowed[i]):
            continue
        if held == room:
            bring_first(index, ids, 0, held, count)
            held, threshold = count, index[count - 1]
            if merit < threshold:
                continue
        index[held], ids[held] = merit, i
        held += 1
    bring_first(index, ids, 0, held, min(count, held))
    held = min(count, held)
    put_in_order(index, ids, 0, held)
    return ids[:held].copy()


@njit(cache=True)
def _walk(ids: IntArray, cost: FloatArray, group: IntArray, groups: int, budget: float) -> IntArray:
    """Down a ranking, one per group, to the first that does not fit."""
    used = np.zeros(groups, np.bool_)
    taken = np.empty(len(ids), np.int64)
    count, spent = 0, 0.0
    for source in ids:
        if groups > 0:
            if used[group[source]]:
                continue
            used[group[source]] = True
        if spent + cost[source] > budget * FITS:
            break
        spent += cost[source]
        taken[count] = source
        count += 1
    return taken[:count].copy()


def take(
    index: npt.ArrayLike,
    budget: float,
    cost: npt.ArrayLike = 1.0,
    *,
    group: npt.ArrayLike | None = None,
    allowed: npt.ArrayLike | None = None,
) -> IntArray:
    """The top of the ranking by any index, as far as the budget goes: the rule of the calendar, for any model.

    Equal indices go to the lower id, an index of 0 or less is not taken, at most one per group.

    >>> take([0.5, 2.0, 2.0, 1.0], budget=2).tolist()
    [1, 2]
    """
    merit, costs = aligned({"index": as_float("index", index), "cost": as_float("cost", cost)})[0]
    if np.isnan(merit).any():
        k = int(np.argmax(np.isnan(merit)))
        raise ParameterError("index", "numbers", merit[k], (k,))
    wanted = merit > 0.0 if allowed is None else (merit > 0.0) & np.asarray(allowed, np.bool_)
    ids = np.flatnonzero(wanted)
    order = ids[np.argsort(-merit[ids], kind="stable")]
    hosts = np.empty(0, np.int64) if group is None else np.asarray(group, np.int64)
    return np.asarray(_walk(order, costs, hosts, int(hosts.max(initial=-1)) + 1, float(budget)), np.int64)


def scan(
    value: npt.ArrayLike,
    rate: npt.ArrayLike,
    cost: npt.ArrayLike = 1.0,
    *,
    last: npt.ArrayLike,
    now: float,
    budget: float,
    group: npt.ArrayLike | None = None,
    allowed: npt.ArrayLike | None = None,
) -> IntArray:
    """What a calendar with these sources would choose at `now`, by looking at all of them.

    Without groups and with equal costs this is one fused pass and no array of indices.

    >>> scan(value=[1.0, 5.0, 3.0], rate=0.1, last=0.0, now=10.0, budget=2).tolist()
    [1, 2]
    """
    columns = {"value": value, "rate": rate, "last": last, "cost": cost}
    v, r, since, c = aligned({name: np.atleast_1d(as_float(name, column)) for name, column in columns.items()})[0]
    permitted = np.empty(0, np.bool_) if allowed is None else np.asarray(allowed, np.bool_)
    if group is None and np.ndim(cost) == 0:
        count = int(min(math.floor(budget / float(c[0]) * FITS), len(v))) if len(v) else 0
        return _best(v, r, since, c, permitted, float(now), count) if count > 0 else np.empty(0, np.int64)
    index = np.empty(len(v))
    _indices(v, r, since, c, float(now), index)
    return take(index, budget, c, group=group, allowed=allowed)
