"""The index of a source whose items come by the hour of the day and the day of the week.

Items arrive at rate rπ(t), with π a profile of mean 1 that is constant within an hour, and fade at μ. Since the last
crawl, a time τ ago, the source has had the exposure N = ∫π and holds, per unit of r, the worth W = ∫π(u)e^{−μ(t−u)}du.
Under π ≡ 1 the index is r·W(1 − x/(e^x − 1)) with x = μτ, respectively r·Nτ/2 where every hour of delay costs the same:
the worth at hand less what waiting is worth, for waiting a little loses q = e^{−x} of the exposure it adds (discovery:
delays it by p = τ).

With a profile, waiting may be worth more: the busy hours may be about to begin. Let the best wait within a horizon add
the worth ΔW by the exposure ΔN; then q = max ΔW/ΔN takes the place of e^{−x}, never less than it, and the index is::

    ephemeral   r·W·(1 + q·log q/(1 − q)),      discovery   r·N·p/2,  p = min ΔA/ΔN never more than τ

with ΔA the delay accumulated meanwhile. For π ≡ 1 both are the plain index.

Time is in days, rates per day. Symbols: π profile, r rate, μ decay, τ age, N exposure, W worth per unit rate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.information_bonus import raised
from recrawl.records import FloatArray, IntArray

HOURS, WEEK = 24, 7
HOUR = 1.0 / 24.0
LONGEST_WALK = 28.0
"""Days that are walked hour by hour."""
Profile = npt.NDArray[np.float32]
LEAST_PROFILE = 1e-3
"""No hour is taken to be quite dead."""
LARGEST_SHARE = 0.9999


class FeedBeliefs(NamedTuple):
    """One row per feed: r and its Gamma(A, B) belief, π by hours and weekdays, μ.

    Compiled functions take the arrays one by one: a tuple of them costs references counted at every row.
    """

    rate: Profile
    shape: Profile
    scale_rate: Profile
    hours: Profile
    weekdays: Profile
    decay: FloatArray


class SinceVisit(NamedTuple):
    """One row per feed: N and W at the time `at`, since the last visit `until`."""

    until: FloatArray
    at: FloatArray
    exposure: FloatArray
    worth: FloatArray


@njit(cache=True)
def carry(
    start: float, end: float, hours: Profile, weekdays: Profile, decay: float, exposure: float, worth: float
) -> tuple[float, float]:
    """N and W of a source carried from one time to a later one (days since 1970), hour by hour.

    What lies further back than four weeks is taken to have seen every hour alike.
    """
    at = start
    if end - at > LONGEST_WALK:
        step = end - LONGEST_WALK - at
        kept = math.exp(-decay * step)
        worth = kept * worth + ((1.0 - kept) / decay if decay > 0.0 else step)
        exposure += step
        at += step
    hour = math.floor(at * HOURS + 1e-9)
    while at < end - 1e-12:
        # Counted, not found again from the time: tens of thousands of years on, that rounds to the hour just over.
        stop = min((hour + 1.0) * HOUR, end)
        step = stop - at
        profile = hours[hour % HOURS] * weekdays[hour // HOURS % WEEK]
        kept = math.exp(-decay * step)
        worth = kept * worth + profile * ((1.0 - kept) / decay if decay > 0.0 else step)
        exposure += step * profile
        at, hour = stop, hour + 1
    return exposure, worth


@njit(cache=True)
def best_wait(
    now: float,
    horizon: float,
    shortest: float,
    hours: Profile,
    weekdays: Profile,
    decay: float,
    exposure: float,
    worth: float,
) -> float:
    """q = max ΔW/ΔN over waits up to the horizon, ending with an hour or after the shortest one; with decay 0, p."""
    begun = math.floor(now * HOURS + 1e-9)
    at, hour, weekday = 0.0, begun % HOURS, begun // HOURS % WEEK
    left = (begun + 1.0) * HOUR - now
    added, gained, best = 0.0, worth, -math.inf if decay > 0.0 else math.inf
    delay, total = 0.0, exposure
    first = True
    while at < horizon - 1e-9:
        step = shortest if first and shortest < left else left
        first = False
        profile = max(hours[hour] * weekdays[weekday], LEAST_PROFILE)
        added += profile * step
        if decay > 0.0:
            kept = math.exp(-decay * step)
            gained = kept * gained + profile * (1.0 - kept) / decay
            best = max(best, (gained - worth) / added)
        else:
            delay += (total + 0.5 * profile * step) * step
            total += profile * step
            best = min(best, delay / added)
        at += step
        left -= step
        if left < 1e-9:
            left, hour = HOUR, hour + 1
            if hour == HOURS:
                hour, weekday = 0, (weekday + 1) % WEEK
    return best


@njit(cache=True)
def rhythm_index(rate: float, age: float, exposure: float, worth: float, decay: float, wait: float) -> float:
    """The index at unit cost, `wait` being :func:`best_wait`."""
    if age <= 0.0:
        return 0.0
    if decay <= 0.0:
        return rate * exposure * 0.5 * max(min(wait, age), 0.0)
    share = min(max(wait, math.exp(-decay * age)), LARGEST_SHARE)
    if share < 1e-300:
        return rate * worth
    return rate * worth * max(1.0 + share * math.log(share) / (1.0 - share), 0.0)


@njit(cache=True)
def index_with_wait(
    rate: float,
    shape: float,
    scale_rate: float,
    decay: float,
    age: float,
    n: float,
    w: float,
    wait: float,
    bonus: float,
) -> float:
    """The index if the best wait is worth so much; without looking ahead (`wait` of 0, inf with decay 0) a bound."""
    return raised(rhythm_index(rate, age, n, w, decay, wait), shape, scale_rate, n, bonus)


@njit(cache=True)
def rhythm_scan(
    rows: IntArray,
    now: FloatArray,
    keep: bool,
    since: FloatArray,
    until: FloatArray,
    at: FloatArray,
    exposure: FloatArray,
    worth: FloatArray,
    rate: Profile,
    shape: Profile,
    scale_rate: Profile,
    hours: Profile,
    weekdays: Profile,
    decay: FloatArray,
    horizon: float,
    shortest: float,
    bonus: float,
    out: FloatArray,
) -> None:
    """Fill `out` with the index of some rows at unit weight, each at its time `now`; times in days.

    With `keep` what has come since the visits is brought up to the beginning of the present hour.
    """
    for k in range(len(rows)):
        i = rows[k]
        begin, n, w = at[i], exposure[i], worth[i]
        if now[k] < begin:
            begin, n, w = until[i], 0.0, 0.0
        hour = math.floor(now[k] * HOURS + 1e-9) * HOUR
        if hour > begin:
            n, w = carry(begin, hour, hours[i], weekdays[i], decay[i], n, w)
            if keep and begin == at[i]:
                at[i], exposure[i], worth[i] = hour, n, w
            begin = hour
        n, w = carry(begin, now[k], hours[i], weekdays[i], decay[i], n, w)
        wait = best_wait(now[k], horizon, shortest, hours[i], weekdays[i], decay[i], n, w)
        index = rhythm_index(rate[i], now[k] - since[k], n, w, decay[i], wait)
        out[k] = raised(index, shape[i], scale_rate[i], n, bonus)
