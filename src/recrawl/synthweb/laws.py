"""The laws by which synthetic sources publish: point processes in virtual hours.

A source publishes by a Poisson process of intensity b(t) ("spontaneous" items), and every item, spontaneous or not,
brings a Poisson number of echoes with mean n < 1, each after an exponential delay: a Hawkes process in its branching
form. With R the mean rate over long times,

    b(t) = R (1 − n) · day(t) · drift(t),

where day(t) has period 24 h and drift(t) a period of days, both with mean 1:

    day(t)   = 1 + a cos(2π (t − peak)/24), a = (q − 1)/(q + 1), q = peak/trough; or 24 given weights,
    drift(t) = exp(d sin(2π t/period + phase)) / I₀(d), d = ln(highest/lowest)/2.

Spontaneous items are drawn by thinning [Lewis and Shedler 1979]. Times are drawn in blocks, in order, from a generator
of the source's own: what a source publishes depends on its seed and on nothing anybody asked.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError

BLOCK_ITEMS = 32.0
DAY_H = 24.0
LONGEST_HISTORY_H = 5 * 365 * DAY_H

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Law(msgspec.Struct, frozen=True, kw_only=True):
    """How one source publishes.

    Parameters
        rate: R, items per virtual hour in the long run
        swing: q, intensity at the busiest hour of the day over that at the quietest
        peak_hour: the busiest hour
        profile: 24 relative weights of the hours of the day, in place of the sinusoid
        drift: highest over lowest rate within `drift_days`
        drift_phase: in turns
        branching: n, expected echoes of one item, in [0, 1)
        echo_h: mean delay of an echo, virtual hours
    """

    rate: float
    swing: float = 1.0
    peak_hour: float = 12.0
    profile: tuple[float, ...] = ()
    drift: float = 1.0
    drift_days: float = 4.0
    drift_phase: float = 0.0
    branching: float = 0.0
    echo_h: float = 0.25

    def __post_init__(self) -> None:
        _require("rate", "finite and >= 0", self.rate, 0.0 <= self.rate < math.inf)
        _require("swing", "at least 1", self.swing, 1.0 <= self.swing < math.inf)
        _require("drift", "at least 1", self.drift, 1.0 <= self.drift < math.inf)
        _require("drift_days", "above 0", self.drift_days, 0.0 < self.drift_days < math.inf)
        _require("branching", "in [0, 1)", self.branching, 0.0 <= self.branching < 1.0)
        _require("echo_h", "above 0", self.echo_h, 0.0 < self.echo_h < math.inf)
        weights = self.profile
        sound = not weights or (len(weights) == DAY_H and min(weights) >= 0.0 and 0.0 < sum(weights) < math.inf)
        _require("profile", "24 weights >= 0, not all 0", weights, sound)

    @property
    def name(self) -> str:
        """Steady, or what makes it otherwise."""
        parts = (
            ("diurnal", self.swing > 1.0 or bool(self.profile)),
            ("drifting", self.drift > 1.0),
            ("bursty", self.branching > 0.0),
        )
        return "+".join(name for name, present in parts if present) or "steady"

    def spontaneous(self, hours: npt.ArrayLike) -> FloatArray:
        """The intensity b(t) of spontaneous items, per virtual hour."""
        times = np.asarray(hours, dtype=np.float64)
        intensity = np.full_like(times, self.rate * (1.0 - self.branching))
        if self.profile or self.swing > 1.0:
            intensity *= self._day(times)
        if self.drift > 1.0:
            intensity *= self._drift(times)
        return intensity

    @property
    def highest(self) -> float:
        """No less than the intensity of spontaneous items at any time."""
        if self.profile:
            day = max(self.profile) * DAY_H / sum(self.profile)
        else:
            day = 1.0 + (self.swing - 1.0) / (self.swing + 1.0)
        return self.rate * (1.0 - self.branching) * day * math.sqrt(self.drift) / _mean_drift(self.drift)

    def _day(self, hours: FloatArray) -> FloatArray:
        if self.profile:
            weights = np.asarray(self.profile)
            return weights[np.floor(hours % DAY_H).astype(np.int64) % 24] / weights.mean()
        amplitude = (self.swing - 1.0) / (self.swing + 1.0)
        wave: FloatArray = 1.0 + amplitude * np.cos(2.0 * np.pi * (hours - self.peak_hour) / DAY_H)
        return wave

    def _drift(self, hours: FloatArray) -> FloatArray:
        depth = math.log(self.drift) / 2.0
        turns = hours / (self.drift_days * DAY_H) + self.drift_phase
        factor: FloatArray = np.exp(depth * np.sin(2.0 * np.pi * turns)) / _mean_drift(self.drift)
        return factor


@lru_cache(maxsize=256)
def _mean_drift(ratio: float) -> float:
    """I₀(d), the mean of exp(d sin) over a period, for a ratio e^{2d} of highest to lowest."""
    return float(np.i0(math.log(ratio) / 2.0)) if ratio > 1.0 else 1.0


class Arrivals:
    """When one source publishes, drawn as far as anybody has asked.

    It begins `history` expected items before virtual hour 0 (at most five years), so that a feed is full when the web
    starts.

    >>> arrivals = Arrivals(Law(rate=2.0), seed=(7, 0), history=10)
    >>> arrivals.between(0.0, 50.0).tolist() == Arrivals(Law(rate=2.0), seed=(7, 0), history=10).between(0, 50).tolist()
    True
    """

    __slots__ = ("_block_h", "_echoes", "_highest", "_law", "_rng", "_times", "_until")

    def __init__(self, law: Law, seed: Sequence[int], history: float = 40.0) -> None:
        self._law = law
        self._highest = law.highest
        self._rng = np.random.default_rng(seed)
        self._times = array("d")
        self._echoes: FloatArray = np.empty(0)
        self._block_h = BLOCK_ITEMS / law.rate if law.rate > 0.0 else math.inf
        self._until = -min(history / law.rate, LONGEST_HISTORY_H) if law.rate > 0.0 else math.inf
        if self._until < 0.0:
            self._draw(self._block_h - self._until)

    def count(self, hour: float) -> int:
        """How many items are out by that virtual hour, the history included."""
        while hour >= self._until:
            self._draw(self._block_h)
        return bisect_right(self._times, hour)

    def time(self, number: int) -> float:
        """The virtual hour of item `number`, counted from 0, among those already counted."""
        return self._times[number]

    def latest(self, count: int, most: int) -> list[tuple[int, float]]:
        """The last `most` of the first `count` items, newest first, as (number, virtual hour)."""
        times = self._times
        return [(number, times[number]) for number in range(count - 1, max(count - most, 0) - 1, -1)]

    def between(self, start: float, end: float) -> FloatArray:
        """The virtual hours in (start, end] at which it publishes."""
        last = self.count(end)
        first = bisect_right(self._times, start)
        return np.array(self._times[first:last], dtype=np.float64)

    def _draw(self, hours: float) -> None:
        """One more block. Echoes that fall beyond it wait: nothing later can echo into this block."""
        start, end = self._until, self._until + hours
        rng, highest = self._rng, self._highest
        times = rng.uniform(start, end, rng.poisson(highest * hours))
        times = times[rng.uniform(0.0, highest, len(times)) <= self._law.spontaneous(times)]
        family = np.concatenate([times, self._echoes, self._cascade(times)])
        family.sort()
        inside = int(np.searchsorted(family, end))
        self._times.extend(family[:inside].tolist())
        self._echoes = family[inside:]
        self._until = end

    def _cascade(self, parents: FloatArray) -> FloatArray:
        """All echoes of these items, and their echoes, and so on."""
        generations = [np.empty(0)]
        while self._law.branching > 0.0 and len(parents):
            numbers = self._rng.poisson(self._law.branching, len(parents))
            parents = np.repeat(parents, numbers) + self._rng.exponential(self._law.echo_h, int(numbers.sum()))
            generations.append(parents)
        return np.concatenate(generations)


def _require(name: str, expected: str, value: object, holds: bool) -> None:
    if not holds:
        raise ParameterError(name, expected, value)
