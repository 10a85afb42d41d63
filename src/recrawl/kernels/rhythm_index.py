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

import numpy as np
import numpy.typing as npt
from numba import njit

from recrawl.kernels.continuous_index import age_at_price, index_at_age
from recrawl.records import FloatArray, IntArray

HOURS, WEEK = 24, 7
HOUR = 1.0 / 24.0
SHORTEST_AGE, LONGEST_AGE = 1e-9, 1e6
NEAR_AGE, NEWTONS = 1e-4, 60
"""Steps shorter than this share of the age are the last; their errors are its square."""
LONGEST_WALK = 28.0
"""Days that are walked hour by hour."""
FINE_HALVINGS, NEAR = 40, 0.01
"""An hour halved so often is less than a microsecond; and to which part of the age it is worth knowing a time."""
Profile = npt.NDArray[np.float32]
LEAST_PROFILE = 1e-3
"""No hour is taken to be quite dead."""
LARGEST_SHARE = 0.9999


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
    while at < end - 1e-12:
        stop = min((math.floor(at * HOURS + 1e-9) + 1.0) * HOUR, end)
        step, middle = stop - at, 0.5 * (at + stop)
        profile = hours[math.floor(middle * HOURS) % HOURS] * weekdays[math.floor(middle) % WEEK]
        kept = math.exp(-decay * step)
        worth = kept * worth + profile * ((1.0 - kept) / decay if decay > 0.0 else step)
        exposure += step * profile
        at = stop
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
def information(shape: float, scale_rate: float, exposure: float) -> float:
    """The standard deviation of log r, under a Gamma(A, B) belief, that a crawl after exposure N would remove."""
    known = exposure / (scale_rate + exposure) if exposure < math.inf else 1.0
    return math.sqrt(known / max(shape, 1e-3))


@njit(cache=True)
def raised(index: float, shape: float, scale_rate: float, exposure: float, bonus: float) -> float:
    """The index with what finding out is worth."""
    return index * (1.0 + bonus * information(shape, scale_rate, exposure))


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

    `exposure` and `worth` of a row are those at the time `at`, since its last visit `until`; with `keep` they are
    brought up to the beginning of the present hour.
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


@njit(cache=True)
def _bound(
    rate: float,
    age: float,
    n: float,
    w: float,
    decay: float,
    shape: float,
    scale_rate: float,
    bonus: float,
    wait: float,
) -> float:
    """The index if the best wait is worth so much; without looking ahead (`wait` of 0, inf with decay 0) a bound."""
    return raised(rhythm_index(rate, age, n, w, decay, wait), shape, scale_rate, n, bonus)


@njit(cache=True)
def _least_wait(
    time: float,
    step: float,
    horizon: float,
    hours: Profile,
    weekdays: Profile,
    decay: float,
    exposure: float,
    worth: float,
) -> float:
    """What :func:`best_wait` is at least (with decay 0, at most) at any time from now to the end of the hour.

    Waits to the end of a later hour are open all that time. They add no more exposure than from now on, and no less
    worth than beyond the most that is held meanwhile (with decay 0: no more delay, no less than from the next hour on).
    """
    begun = math.floor(time * HOURS + 1e-9)
    hour, weekday = begun % HOURS, begun // HOURS % WEEK
    at, added, delay = step, 0.0, 0.0
    profile = hours[hour] * weekdays[weekday]
    here, kept = max(profile, LEAST_PROFILE) * step, math.exp(-decay * step)
    gained = kept * worth + profile * (1.0 - kept) / decay if decay > 0.0 else 0.0
    most, best = max(worth, gained), -math.inf if decay > 0.0 else math.inf
    delay += (exposure + 0.5 * here) * step
    total = exposure + here
    while at < horizon - 1e-9:
        hour += 1
        if hour == HOURS:
            hour, weekday = 0, (weekday + 1) % WEEK
        profile = max(hours[hour] * weekdays[weekday], LEAST_PROFILE)
        added += profile * HOUR
        if decay > 0.0:
            kept = math.exp(-decay * HOUR)
            gained = kept * gained + profile * (1.0 - kept) / decay
            if gained > most:
                best = max(best, (gained - most) / (here + added))
        else:
            delay += (total + 0.5 * profile * HOUR) * HOUR
            total += profile * HOUR
            best = min(best, delay / added)
        at += HOUR
    return best


@njit(cache=True)
def quiet_until(
    rows: IntArray,
    now: float,
    since: FloatArray,
    level: FloatArray,
    furthest: float,
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
    bonus: float,
    out: FloatArray,
) -> None:
    """Times before which the index of some rows is surely below its level, at most `furthest` ahead; in days.

    Without looking ahead the index is no smaller. Age, N, and W at the larger of its values at the two ends bound it
    over an hour; where that reaches the level, it is
    lowered by what waiting is worth at least in that hour. Within the first
    hour in which the bound still reaches the level, it is met by halving.
    """
    for k in range(len(rows)):
        i = rows[k]
        begin, n, w = at[i], exposure[i], worth[i]
        if now < begin:
            begin, n, w = until[i], 0.0, 0.0
        n, w = carry(begin, now, hours[i], weekdays[i], decay[i], n, w)
        time, mu = now, decay[i]
        out[k] = now + furthest
        while time < now + furthest:
            step = (math.floor(time * HOURS + 1e-9) + 1.0) * HOUR - time
            middle = time + 0.5 * step
            profile = hours[i, math.floor(middle * HOURS) % HOURS] * weekdays[i, math.floor(middle) % WEEK]
            kept = math.exp(-mu * step)
            more = kept * w + profile * ((1.0 - kept) / mu if mu > 0.0 else step)
            age, most = time + step - since[k], max(w, more)
            wait = 0.0 if mu > 0.0 else math.inf
            bound = _bound(rate[i], age, n + profile * step, most, mu, shape[i], scale_rate[i], bonus, wait)
            if bound >= level[k]:
                wait = _least_wait(time, step, horizon, hours[i], weekdays[i], mu, n, w)
                bound = _bound(rate[i], age, n + profile * step, most, mu, shape[i], scale_rate[i], bonus, wait)
            if bound >= level[k]:
                low, high = 0.0, step
                for _ in range(FINE_HALVINGS):
                    if high - low < NEAR * (time + low - since[k]):
                        break
                    part = 0.5 * (low + high)
                    kept = math.exp(-mu * part)
                    then = max(w, kept * w + profile * ((1.0 - kept) / mu if mu > 0.0 else part))
                    reach = n + profile * part
                    age = time + part - since[k]
                    if _bound(rate[i], age, reach, then, mu, shape[i], scale_rate[i], bonus, wait) >= level[k]:
                        high = part
                    else:
                        low = part
                out[k] = time + low
                break
            n, w, time = n + profile * step, more, time + step


@njit(cache=True)
def _index_at(
    time: float,
    since: float,
    n: float,
    w: float,
    rate: float,
    shape: float,
    scale_rate: float,
    hours: Profile,
    weekdays: Profile,
    decay: float,
    horizon: float,
    shortest: float,
    bonus: float,
) -> float:
    wait = best_wait(time, horizon, shortest, hours, weekdays, decay, n, w)
    return raised(rhythm_index(rate, time - since, n, w, decay, wait), shape, scale_rate, n, bonus)


@njit(cache=True)
def rhythm_meets(
    rows: IntArray,
    since: FloatArray,
    level: FloatArray,
    latest: FloatArray,
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
    """Times at which the index of some rows, last visited at `since`, meets its level, or `latest`; in days.

    It is looked for at the end of each hour, and within the first hour that ends above the level by halving.
    """
    for k in range(len(rows)):
        i, time, n, w, mu = rows[k], since[k], 0.0, 0.0, decay[rows[k]]
        out[k] = latest[k]
        while time < latest[k]:
            end = (math.floor(time * HOURS + 1e-9) + 1.0) * HOUR
            more, heavier = carry(time, end, hours[i], weekdays[i], mu, n, w)
            wait = 0.0 if mu > 0.0 else math.inf
            bound = _bound(rate[i], end - since[k], more, max(w, heavier), mu, shape[i], scale_rate[i], bonus, wait)
            if bound >= level[k]:
                args = (rate[i], shape[i], scale_rate[i], hours[i], weekdays[i], mu, horizon, shortest, bonus)
                if _index_at(end, since[k], more, heavier, *args) >= level[k]:
                    low, high = time, end
                    for _ in range(FINE_HALVINGS):
                        middle = 0.5 * (low + high)
                        then, worth = carry(time, middle, hours[i], weekdays[i], mu, n, w)
                        if _index_at(middle, since[k], then, worth, *args) >= level[k]:
                            high = middle
                        else:
                            low = middle
                    out[k] = min(high, latest[k])
                    break
            time, n, w = end, more, heavier


@njit(cache=True)
def flat_ages(
    rows: IntArray,
    level: FloatArray,
    rate: Profile,
    shape: Profile,
    scale_rate: Profile,
    decay: FloatArray,
    bonus: float,
    out: FloatArray,
) -> None:
    """Ages, in days, at which the index of some rows meets its level if every hour is alike; inf for never."""
    for k in range(len(rows)):
        i = rows[k]
        mu, most = decay[i], 1.0 + bonus * information(shape[i], scale_rate[i], math.inf)
        value = rate[i] / mu if mu > 0.0 else np.float64(rate[i])
        if level[k] <= 0.0:
            out[k] = 0.0
        elif value <= 0.0 or (mu > 0.0 and value * most <= level[k]):
            out[k] = math.inf
        else:
            young = age_at_price(value, mu, level[k] / most, 1.0)
            out[k] = _flat_age(level[k], young, value, mu, shape[i], scale_rate[i], bonus)


@njit(cache=True)
def _flat_age(
    level: float, young: float, value: float, decay: float, shape: float, scale_rate: float, bonus: float
) -> float:
    """The age at which the index under π ≡ 1 meets a level, from a lower bound on; by Newton's steps on logarithms.

    On them the plain index has the slope s²e^{−s}/G(s), s = μτ, or 2; and the bonus b·I that of √(N/(B + N)), N = τ. A
    step that leaves what is known to enclose the crossing is replaced by halving that.
    """
    age, low, high = max(young, SHORTEST_AGE), 0.0, math.inf
    for _ in range(NEWTONS):
        doubt = bonus * information(shape, scale_rate, age)
        plain = index_at_age(value, decay, age, 1.0)
        s = decay * age
        steep = value * s * s * math.exp(-s) / plain if decay > 0.0 else 2.0
        steep += 0.5 * doubt / (1.0 + doubt) * scale_rate / (scale_rate + age)
        missing = math.log(level / (plain * (1.0 + doubt)))
        low, high = (age, high) if missing > 0.0 else (low, age)
        further = age * math.exp(min(max(missing / max(steep, 1e-9), -1.0), 1.0))
        if not low <= further <= high:
            further = 0.5 * (low + high)
        close = abs(further - age) < NEAR_AGE * age
        age = further
        if close or age > LONGEST_AGE:
            break
    return age
