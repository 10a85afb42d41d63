"""What readers' clicks say of sources: how many an item draws, and how soon they stop coming.

An item found at once draws ξ clicks on average, at rate ξμe^{−μa} at age a; found at age a, there are ξe^{−μa} still to
come. That is the interest a crawl captures [tcns2018 counts it so], and what it is worth compared with other sources'
is what the crawler should know. Of a source with items found at ages a_j and looked at until ages b_j, and clicks at
ages x_k, the likelihood is that of a Poisson process::

    log L(ξ, μ) = N·log ξμ − μ·Σx_k − ξ·E(μ),    E(μ) = Σ_j (e^{−μa_j} − e^{−μb_j})

so an item that was there and was not clicked counts as much as one that was. μ lives on a grid, ξ given μ is Gamma
(:func:`recrawl.kernels.likelihood.inflow_posterior`) with a law fitted to all sources, to which each is shrunk.

*No list of items is kept.* All items of a source fade alike: with S(μ) = Σ_j e^{−μ·age_j} over those found so far, time
dt adds S·(1 − e^{−μ·dt}) to E and leaves S·e^{−μ·dt}; a new item adds e^{−μa} to S. Sources are brought up to date when
they are visited, clicked, or when the common law is fitted.

*Few clicks, and heaps of them.* Clicks come by the item: a story that everybody opens is one piece of evidence, not a
thousand. With y clicks on an item, Σy²/Σy is 1 + ξ (weighed by clicks) where items of a source are alike; what it is
more is the dispersion φ beyond 1, pooled over the catalogue, which divides both N and E.

*Until somebody clicks* nothing of this is kept: a source takes room only where there are readers. At the first click
of all, what was found before is taken from the source's pace Λ, S(μ) = Λ(1 − e^{−μT})/μ after a time T.

*Appeal* is ξ over the catalogue's mean: 1 where nothing is known, and 1 for everybody until somebody clicks. Items
count as there to be clicked from the first click on. Evidence is forgotten at a half-life of thirty days.

Symbols: ξ clicks per item, μ decay per second, N clicks, E exposure, S mass of what has not faded, φ dispersion.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.kernels.likelihood import gamma_prior, inflow_posterior
from recrawl.kernels.worth import LN2, decay_of, remaining
from recrawl.learning.columns import Column, Columns
from recrawl.learning.rates import fit_prior
from recrawl.records import FloatArray, IntArray

Masses = npt.NDArray[np.float32]

POINTS = 25
WIDEST = 64.0
"""Half-lives told apart, from the usual one over this to the usual one times this; the usual one is a grid point."""
USUAL_OCTAVES = 1.0
"""Standard deviation, in doublings, of half-lives about the usual one before any are learned."""
FORGET_S = 30 * 86400.0
FIRST_LAW = (1.0, 1.0)
"""Shape and mean of the law of ξ before anything was learned; its mean is fitted from the first click on."""
FIT_GROWTH, FIT_HALF_LIVES = 1.25, 0.25
SLACK_S = 300.0
"""An item may be noted as found so long before the source's record begins: it is written a little after the fetch."""
MOST_CLICKS = 1e6
"""Bound on the clicks of one item that count at a time."""


class Told(NamedTuple):
    """One row per source: S and E per decay, N, the summed ages of clicks, and up to when that is counted."""

    mass: Masses
    exposure: Masses
    clicks: FloatArray
    ages: FloatArray
    told: FloatArray


@njit(cache=True)
def _advance(i: int, now: float, since: float, rates: FloatArray, sources: Told) -> None:
    """Bring one source up to date: what stood there to be clicked, and how much of it has faded."""
    mass, exposure, clicks, ages, told = sources
    if math.isnan(told[i]):
        told[i] = now
    gap = now - told[i]
    if not gap > 0.0:
        return
    before = max(since - told[i], 0.0)
    heard = gap > before
    kept = remaining(gap - before, FORGET_S) if heard else 1.0
    clicks[i] *= kept
    ages[i] *= kept
    for g in range(len(rates)):
        left = math.exp(-rates[g] * gap)
        if heard:
            exposure[i, g] = kept * exposure[i, g] + mass[i, g] * (math.exp(-rates[g] * before) - left)
        mass[i, g] *= left
    told[i] = now


@njit(cache=True)
def _advance_all(ids: IntArray, now: float, since: float, rates: FloatArray, sources: Told) -> None:
    for i in ids:
        _advance(i, now, since, rates, sources)


@njit(cache=True)
def _find(
    ids: IntArray,
    offsets: IntArray,
    times: FloatArray,
    undated: FloatArray,
    now: float,
    since: float,
    rates: FloatArray,
    sources: Told,
    begun: FloatArray,
) -> None:
    """Items were found: dated ones at their age, others, where there is no dated one, as new."""
    for k in range(len(ids)):
        i, listed = ids[k], times[offsets[k] : offsets[k + 1]]
        if math.isnan(begun[i]):
            begun[i] = now
        _advance(i, now, since, rates, sources)
        for g in range(len(rates)):
            total = undated[k] if len(listed) == 0 else 0.0
            for time in listed:
                total += math.exp(-rates[g] * max(now - time, 0.0))
            sources.mass[i, g] += total


@njit(cache=True)
def _posterior(
    i: int,
    rates: FloatArray,
    sources: Told,
    dispersion: float,
    law: tuple[float, float],
    log_prior: FloatArray,
    row: FloatArray,
    drawn: FloatArray,
) -> float:
    """Fill log p(μ | clicks) and E[ξ | μ, clicks] of one source; the shape of ξ given μ. `law`: shape and rate."""
    fit, reach = np.empty(len(rates)), np.empty(len(rates))
    for g in range(len(rates)):
        fit[g] = sources.clicks[i] * math.log(rates[g]) - sources.ages[i] * rates[g]
        reach[g] = sources.exposure[i, g]
    return inflow_posterior(fit, reach, sources.clicks[i], dispersion, law[0], law[1], log_prior, row, drawn)


@njit(cache=True)
def _fix(row: FloatArray, rates: FloatArray, decay: float) -> None:
    """Put all mass where the decay is known to be, between the two grid points about it."""
    step = math.log(rates[1] / rates[0])
    place = min(max(math.log(decay / rates[0]) / step, 0.0), len(rates) - 1.000001)
    g = math.floor(place)
    row[:] = -math.inf
    row[g] = math.log(max(1.0 - (place - g), 1e-300))
    row[g + 1] = math.log(max(place - g, 1e-300))


@njit(cache=True)
def _estimate(
    ids: IntArray,
    rates: FloatArray,
    sources: Told,
    dispersion: float,
    law: tuple[float, float],
    log_prior: FloatArray,
    decay: FloatArray,
    drawn_mean: FloatArray,
    spread: FloatArray,
    fading: FloatArray,
) -> None:
    """ξ, its relative standard deviation, and μ of some sources; `decay` is μ where it is known, NaN elsewhere."""
    row, drawn = np.empty(len(rates)), np.empty(len(rates))
    for k in range(len(ids)):
        shape = _posterior(ids[k], rates, sources, dispersion, law, log_prior, row, drawn)
        if not math.isnan(decay[k]):
            _fix(row, rates, decay[k])
        top, total, mean, square, logs = row.max(), 0.0, 0.0, 0.0, 0.0
        for g in range(len(rates)):
            share = math.exp(row[g] - top)
            total += share
            mean += share * drawn[g]
            square += share * drawn[g] * drawn[g] * (1.0 + 1.0 / shape)
            logs += share * math.log(rates[g])
        mean /= total
        drawn_mean[k] = mean
        spread[k] = math.sqrt(max(square / total / (mean * mean) - 1.0, 0.0))
        fading[k] = math.exp(logs / total) if math.isnan(decay[k]) else decay[k]


@njit(cache=True)
def _evidence(ids: IntArray, rates: FloatArray, sources: Told, dispersion: float, law: tuple[float, float]) -> Masses:
    """Log-likelihood of every decay for some sources, up to a constant each."""
    out = np.empty((len(ids), len(rates)), np.float32)
    row, drawn, flat = np.empty(len(rates)), np.empty(len(rates)), np.zeros(len(rates))
    for k in range(len(ids)):
        _posterior(ids[k], rates, sources, dispersion, law, flat, row, drawn)
        out[k] = row - row.max()
    return out


class Clicked(NamedTuple):
    """Clicks on items, one row per item; times are Unix seconds.

    Parameters
        born: when the item was published, or found where that is not known
        found: when a crawl found it
        at: when it was clicked, on average
        clicks: how often
        before: how often it had been clicked before, as far as that is known
    """

    born: FloatArray
    found: FloatArray
    at: FloatArray
    clicks: FloatArray
    before: FloatArray = np.zeros(())


class Readership(Columns):
    """What clicks have said of every source.

    Parameters
        size: number of sources
        half_life: the usual half-life of interest, in seconds
    """

    columns: ClassVar[dict[str, Column]] = {
        "usual": Column(np.float64, np.nan),
        "begun": Column(np.float64, np.nan),
        "told": Column(np.float64, np.nan),
        "clicks": Column(np.float64, 0.0),
        "ages": Column(np.float64, 0.0),
        "mass": Column(np.float32, 0.0, POINTS),
        "exposure": Column(np.float32, 0.0, POINTS),
    }
    usual: FloatArray
    begun: FloatArray
    told: FloatArray
    clicks: FloatArray
    ages: FloatArray
    mass: Masses
    exposure: Masses

    def __init__(self, size: int, half_life: float) -> None:
        super().__init__(size)
        self.half_life = half_life
        self.rates: FloatArray = decay_of(half_life) * np.geomspace(1.0 / WIDEST, WIDEST, POINTS)
        octaves = np.log2(self.rates * half_life / LN2)
        bell = np.exp(-0.5 * (octaves / USUAL_OCTAVES) ** 2) + 1e-3
        self.log_prior: FloatArray = np.log(bell / bell.sum())
        self.law = FIRST_LAW
        self.heaps, self.total, self.usual_heap = 0.0, 0.0, 0.0
        self.since = math.inf
        self.fit_at_clicks, self.fit_at = 0.0, -math.inf

    @property
    def heard(self) -> bool:
        """Whether anybody has clicked anything."""
        return self.total > 0.0

    @property
    def dispersion(self) -> float:
        """φ, at least 1."""
        return max((self.heaps + 1.0) / (self.total + 1.0) - self.usual_heap, 1.0)

    def find(self, ids: IntArray, offsets: IntArray, times: FloatArray, undated: FloatArray, now: float) -> None:
        """New items: publication times in one array, cut by `offsets`, and how many more have no date."""
        _find(ids, offsets, times, undated, now, self.since, self.rates, self._state(), self.begun)
        self.usual[ids] = self.half_life

    def expect(self, begun: FloatArray, until: FloatArray, pace: FloatArray) -> None:
        """Nobody had clicked so far, and nothing was kept: each source has found what its pace leads to expect.

        Parameters, one per source, NaN where it was never looked at
            begun, until: from when to when it was watched
            pace: items per second
        """
        seen = np.flatnonzero(~np.isnan(begun))
        self.begun[seen], self.told[seen], self.usual[seen] = begun[seen], until[seen], self.half_life
        faded = -np.expm1(-np.outer(np.maximum(until[seen] - begun[seen], 0.0), self.rates))
        self.mass[seen] = pace[seen, None] * faded / self.rates

    def listen(self, ids: IntArray, told: Clicked, now: float) -> bool:
        """Clicks on one item each of some sources; True if the common law was fitted anew.

        Clicks on items found before the source's record began, or before they were found, are left out.
        """
        known = (told.found >= self.begun[ids] - SLACK_S) & (told.clicks > 0.0) & (told.at >= told.found)
        ids, at, count = ids[known], told.at[known], np.minimum(told.clicks[known], MOST_CLICKS)
        if not len(ids):
            return False
        if math.isinf(self.since):
            self.since = float(at.min())
        age = np.maximum(at - told.born[known], 0.0)
        touched = np.unique(ids)
        _advance_all(touched, now, self.since, self.rates, self._state())
        np.add.at(self.clicks, ids, count)
        np.add.at(self.ages, ids, count * age)
        self.heaps += float((count * (count + 2.0 * np.minimum(told.before[known], MOST_CLICKS))).sum())
        self.total += float(count.sum())
        return self.keep_up(now)

    def keep_up(self, now: float) -> bool:
        """Fit the common laws anew if it is time: clicks have grown by a quarter, or a quarter half-life has passed.

        Where clicks stop, items go on standing there unclicked; the laws follow, and nobody's appeal sinks alone.
        """
        if not self.heard or (self.total < self.fit_at_clicks and now < self.fit_at):
            return False
        self.fit_at_clicks, self.fit_at = FIT_GROWTH * self.total, now + FIT_HALF_LIVES * self.half_life
        self.refit(now)
        return True

    def refit(self, now: float) -> None:
        """Fit the laws of interest and decay to all sources with items to click."""
        known = np.flatnonzero(~np.isnan(self.begun[: self.size]))
        _advance_all(known, now, self.since, self.rates, self._state())
        known = known[self.exposure[known, 0] > 0.0]
        if not len(known):
            return
        evidence = _evidence(known, self.rates, self._state(), self.dispersion, self._law_rate())
        self.log_prior = fit_prior(evidence[self.clicks[known] > 0.0], self.log_prior)
        shares = np.exp(evidence + self.log_prior)
        reach = (self.exposure[known] * shares).sum(axis=1) / shares.sum(axis=1)
        some = reach > 0.0
        counts, reach = self.clicks[known][some] / self.dispersion, reach[some].astype(np.float64) / self.dispersion
        shape, rate = gamma_prior(counts, reach, (self.law[0], self.law[0] * reach.sum() / (counts.sum() + 0.5)))
        self.law = (float(shape), float(shape / rate))
        self.usual_heap = float(counts @ ((shape + counts) / (rate + reach)) / max(counts.sum(), 1e-9))

    def appeal(self, ids: IntArray, decay: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """ξ over the catalogue's mean, its relative standard deviation, and μ; `decay` is μ where known, else NaN."""
        usual = decay_of(self.half_life)
        appeal, doubt = np.ones(len(ids)), np.zeros(len(ids))
        fading = np.where(np.isnan(decay), usual, decay)
        some = np.flatnonzero(~np.isnan(self.begun[ids])) if self.heard else np.empty(0, np.int64)
        if len(some):
            appeal[some], doubt[some], fading[some] = self._estimate(ids[some], decay[some])
        return appeal, doubt, fading

    def _estimate(self, ids: IntArray, decay: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        drawn, spread, fading = out = tuple(np.empty(len(ids)) for _ in range(3))
        law = self.dispersion, self._law_rate(), self.log_prior
        _estimate(ids, self.rates, self._state(), *law, decay, *out)
        return drawn / self.law[1], spread, fading

    def shared(self) -> dict[str, Any]:
        """What belongs to no single source, as plain numbers."""
        return {
            "half_life": self.half_life,
            "prior": self.log_prior.tolist(),
            "law": list(self.law),
            "clicks": [self.heaps, self.total, self.usual_heap],
            "since": self.since,
            "fit_at": [self.fit_at_clicks, self.fit_at],
        }

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`; nothing is done where decays were told apart otherwise."""
        if state["half_life"] != self.half_life:
            return
        prior = np.array(state["prior"], np.float64)
        if prior.shape != self.rates.shape:
            raise ValueError("the law of decays is of another form")
        self.log_prior = prior
        self.law = (float(state["law"][0]), float(state["law"][1]))
        self.heaps, self.total, self.usual_heap = state["clicks"]
        self.since = float(state["since"])
        self.fit_at_clicks, self.fit_at = state["fit_at"]

    def unpack(self, ids: IntArray, packed: npt.NDArray[Any]) -> None:
        """Write rows packed before, but for those whose decays were told apart otherwise."""
        same = packed["usual"] == self.half_life
        super().unpack(ids[same], packed[same])

    def _law_rate(self) -> tuple[float, float]:
        """Shape and rate of the law of ξ, in units of φ clicks."""
        return self.law[0], self.law[0] / self.law[1]

    def _state(self) -> Told:
        return Told(self.mass, self.exposure, self.clicks, self.ages, self.told)
