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

*Information.* A crawl also tells the rate: with a Gamma(A, B) belief it removes the share N/(B + N) of the variance 1/A
of log r. The index is raised by that standard deviation times a factor, so that sources gone quiet are looked at again.

Time is in days, rates per day. Symbols: π profile, r rate, μ decay, τ age, N exposure, W worth per unit rate.
"""

from __future__ import annotations

import math

from numba import njit

from recrawl.records import FloatArray, IntArray

HOURS, WEEK = 24, 7
HOUR = 1.0 / 24.0
LEAST_PROFILE = 1e-3
"""No hour is taken to be quite dead."""
LARGEST_SHARE = 0.9999


@njit(cache=True)
def gather(
    start: float,
    end: float,
    hours: FloatArray,
    weekdays: FloatArray,
    decay: float,
    exposure: FloatArray,
    worth: FloatArray,
) -> None:
    """Carry N and W of every source from one time to a later one (days since 1970), hour by hour, in place."""
    at = start
    while at < end - 1e-12:
        step = min((math.floor(at * HOURS + 1e-9) + 1.0) * HOUR, end) - at
        middle = at + 0.5 * step
        hour, weekday = math.floor(middle * HOURS) % HOURS, math.floor(middle) % WEEK
        kept = math.exp(-decay * step)
        fresh = (1.0 - kept) / decay if decay > 0.0 else step
        for i in range(len(exposure)):
            profile = hours[i, hour] * weekdays[i, weekday]
            worth[i] = kept * worth[i] + fresh * profile
            exposure[i] += step * profile
        at += step


@njit(cache=True)
def best_wait(
    now: float,
    horizon: float,
    shortest: float,
    hours: FloatArray,
    weekdays: FloatArray,
    decay: float,
    exposure: float,
    worth: float,
) -> float:
    """q = max ΔW/ΔN over waits up to the horizon, ending with an hour or after the shortest one; with decay 0, p."""
    at, hour, weekday = 0.0, math.floor(now * HOURS) % HOURS, math.floor(now) % WEEK
    left = (math.floor(now * HOURS) + 1.0) * HOUR - now
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
def information(shape: float, scale_rate: float, exposure: float) -> float:
    """The standard deviation of log r, under a Gamma(A, B) belief, that a crawl after exposure N would remove."""
    return math.sqrt(exposure / (scale_rate + exposure) / max(shape, 1e-3))


@njit(cache=True)
def rhythm_scan(
    now: float,
    last: FloatArray,
    rate: FloatArray,
    shape: FloatArray,
    scale_rate: FloatArray,
    exposure: FloatArray,
    worth: FloatArray,
    hours: FloatArray,
    weekdays: FloatArray,
    decay: float,
    horizon: float,
    shortest: float,
    bonus: float,
    out: FloatArray,
) -> None:
    """Fill `out` with the index of every source; times in days."""
    for i in range(len(out)):
        wait = best_wait(now, horizon, shortest, hours[i], weekdays[i], decay, exposure[i], worth[i])
        index = rhythm_index(rate[i], now - last[i], exposure[i], worth[i], decay, wait)
        out[i] = index * (1.0 + bonus * information(shape[i], scale_rate[i], exposure[i]))


@njit(cache=True)
def shrink_profiles(
    ids: IntArray,
    own_hours: FloatArray,
    own_weekdays: FloatArray,
    pooled_hours: FloatArray,
    pooled_weekdays: FloatArray,
    weekday_time: FloatArray,
    hour_weight: float,
    weekday_weight: float,
    use_weekdays: bool,
    hours: FloatArray,
    weekdays: FloatArray,
) -> None:
    """Profiles of some sources: their own counts with the pooled profile counted for some pseudo-items, of mean 1."""
    everything, time = pooled_hours.sum(), max(weekday_time.sum(), 1e-12)
    seen = pooled_weekdays.sum()
    for k in range(len(ids)):
        i = ids[k]
        own = own_hours[i].sum()
        for h in range(HOURS):
            common = (pooled_hours[h] + 10.0 / HOURS) / (everything + 10.0) * HOURS
            hours[i, h] = (own_hours[i, h] * HOURS + hour_weight * common) / (own + hour_weight)
        mean = 0.0
        for d in range(WEEK):
            if use_weekdays:
                share = weekday_time[d] / time
                common = (pooled_weekdays[d] + 10.0) / (seen * share + 10.0)
                weight = weekday_weight / WEEK
                weekdays[i, d] = (own_weekdays[i, d] + weight * common) / (own * share + weight)
                mean += weekdays[i, d] * share
            else:
                weekdays[i, d] = 1.0
                mean = 1.0
        weekdays[i] /= mean
