"""When the index of :mod:`recrawl.kernels.rhythm_index` reaches a level: exactly, surely not before, or on average.

Notation and units are those of that module.
"""

from __future__ import annotations

import math

import numpy as np

from recrawl.compiled_code import njit
from recrawl.kernels.continuous_index import age_at_price, index_at_age
from recrawl.kernels.information_bonus import information
from recrawl.kernels.rhythm_index import (
    HOUR,
    HOURS,
    LEAST_PROFILE,
    WEEK,
    FeedBeliefs,
    Profile,
    best_wait,
    carry,
    index_with_wait,
)
from recrawl.records import FloatArray, IntArray

SHORTEST_AGE, LONGEST_AGE = 1e-9, 1e6
NEAR_AGE, NEWTONS = 1e-4, 60
"""Steps shorter than this share of the age are the last; their errors are its square."""
FINE_HALVINGS, NEAR = 40, 0.01
"""An hour halved so often is less than a microsecond; and to which part of the age it is worth knowing a time."""
Law = tuple[float, float, float, float]
"""r, A, B and μ of one feed."""


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
def _quiet_part(
    law: Law,
    time: float,
    step: float,
    since: float,
    level: float,
    n: float,
    w: float,
    profile: float,
    wait: float,
    bonus: float,
) -> float:
    """For how much of a step the bound stays below a level."""
    mu, low, high = law[3], 0.0, step
    for _ in range(FINE_HALVINGS):
        if high - low < NEAR * (time + low - since):
            break
        part = 0.5 * (low + high)
        kept = math.exp(-mu * part)
        then = max(w, kept * w + profile * ((1.0 - kept) / mu if mu > 0.0 else part))
        if index_with_wait(*law, time + part - since, n + profile * part, then, wait, bonus) >= level:
            high = part
        else:
            low = part
    return low


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
    over an hour; where that reaches the level, it is lowered by what waiting is worth at least in that hour. Within the
    first hour in which the bound still reaches the level, it is met by halving.
    """
    for k in range(len(rows)):
        i = rows[k]
        by_hour, by_weekday, mu = hours[i], weekdays[i], decay[i]
        law = (rate[i], shape[i], scale_rate[i], mu)
        begin, n, w = at[i], exposure[i], worth[i]
        if now < begin:
            begin, n, w = until[i], 0.0, 0.0
        n, w = carry(begin, now, by_hour, by_weekday, mu, n, w)
        time = now
        out[k] = now + furthest
        while time < now + furthest:
            step = (math.floor(time * HOURS + 1e-9) + 1.0) * HOUR - time
            middle = time + 0.5 * step
            profile = by_hour[math.floor(middle * HOURS) % HOURS] * by_weekday[math.floor(middle) % WEEK]
            kept = math.exp(-mu * step)
            more = kept * w + profile * ((1.0 - kept) / mu if mu > 0.0 else step)
            age, most = time + step - since[k], max(w, more)
            wait = 0.0 if mu > 0.0 else math.inf
            bound = index_with_wait(*law, age, n + profile * step, most, wait, bonus)
            if bound >= level[k]:
                wait = _least_wait(time, step, horizon, by_hour, by_weekday, mu, n, w)
                bound = index_with_wait(*law, age, n + profile * step, most, wait, bonus)
            if bound >= level[k]:
                out[k] = time + _quiet_part(law, time, step, since[k], level[k], n, w, profile, wait, bonus)
                break
            n, w, time = n + profile * step, more, time + step


@njit(cache=True)
def _index_at(
    law: Law,
    hours: Profile,
    weekdays: Profile,
    time: float,
    since: float,
    n: float,
    w: float,
    ahead: tuple[float, float, float],
) -> float:
    """The index at a time, given N and W there; `ahead` is horizon, shortest wait and bonus."""
    wait = best_wait(time, ahead[0], ahead[1], hours, weekdays, law[3], n, w)
    return index_with_wait(*law, time - since, n, w, wait, ahead[2])


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
    ahead = (horizon, shortest, bonus)
    for k in range(len(rows)):
        i, time, n, w = rows[k], since[k], 0.0, 0.0
        by_hour, by_weekday, mu = hours[i], weekdays[i], decay[i]
        law = (rate[i], shape[i], scale_rate[i], mu)
        out[k] = latest[k]
        while time < latest[k]:
            end = (math.floor(time * HOURS + 1e-9) + 1.0) * HOUR
            more, heavier = carry(time, end, by_hour, by_weekday, mu, n, w)
            wait = 0.0 if mu > 0.0 else math.inf
            bound = index_with_wait(*law, end - since[k], more, max(w, heavier), wait, bonus)
            if (
                bound >= level[k]
                and _index_at(law, by_hour, by_weekday, end, since[k], more, heavier, ahead) >= level[k]
            ):
                low, high = time, end
                for _ in range(FINE_HALVINGS):
                    middle = 0.5 * (low + high)
                    then, heavy = carry(time, middle, by_hour, by_weekday, mu, n, w)
                    if _index_at(law, by_hour, by_weekday, middle, since[k], then, heavy, ahead) >= level[k]:
                        high = middle
                    else:
                        low = middle
                out[k] = min(high, latest[k])
                break
            time, n, w = end, more, heavier


@njit(cache=True)
def flat_ages(rows: IntArray, level: FloatArray, feeds: FeedBeliefs, bonus: float, out: FloatArray) -> None:
    """Ages, in days, at which the index of some rows meets its level if every hour is alike; inf for never."""
    for k in range(len(rows)):
        i = rows[k]
        rate, shape, scale_rate, mu = feeds.rate[i], feeds.shape[i], feeds.scale_rate[i], feeds.decay[i]
        most = 1.0 + bonus * information(shape, scale_rate, math.inf)
        value = rate / mu if mu > 0.0 else np.float64(rate)
        if level[k] <= 0.0:
            out[k] = 0.0
        elif value <= 0.0 or (mu > 0.0 and value * most <= level[k]):
            out[k] = math.inf
        else:
            young = age_at_price(value, mu, level[k] / most, 1.0)
            out[k] = _flat_age(level[k], young, value, mu, shape, scale_rate, bonus)


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
